/**
 * What the values of attributes and the seeded techniques are called in other languages, one table:
 * German | French | Spanish | Portuguese | Italian | Dutch | Polish | Japanese | Chinese, simplified | Chinese,
 * traditional | Korean. A `*` stands for an ending of at most two letters. Words that are common in English with
 * another meaning are left out: rot, hell, rose, main, wit, pour, van.
 */
const TABLE = `
subject=presenter: person, personen, sprecher*, moderator*, mensch* | présentateur*, présentatrice*,
  personne* | presentador*, persona* | apresentador*, pessoa* |
  presentatore, persona | presentator*, persoon, spreker* | prezenter*, osoba, osoby, mówca | 人, 人物, 話者,
  プレゼンター | 人物, 主持人, 演讲者 | 人物, 主持人, 演講者 | 사람, 발표자, 진행자
subject=ui: benutzeroberfläche*, oberfläche*, bildschirm* | interface utilisateur, écran* | interfaz, pantalla* |
  interface de usuário, tela* | interfaccia utente, interfaccia, schermata | gebruikersinterface, scherm |
  interfejs*, ekran* | 画面, ユーザーインターフェース | 界面, 屏幕 | 介面, 螢幕 | 화면, 인터페이스
subject=product: produkt* | produit* | producto* | produto* | prodotto, prodotti | product, producten | produkt* |
  製品, 商品 | 产品 | 產品 | 제품
subject=terminal: terminal*, kommandozeile, befehlszeile, konsole* | terminal, ligne de commande | terminal*,
  línea de comandos | terminal, terminais, linha de comando | terminale, terminali, riga di comando | terminal,
  opdrachtregel | terminal*, wiersz poleceń | ターミナル, 端末, コマンドライン | 终端, 命令行 | 終端, 終端機,
  命令列 | 터미널, 명령줄
subject=text-card: texttafel*, schrifttafel*, überschrift*, schlagzeile*, textkarte* | carton de texte, texte à
  l’écran, gros titre, slogan, texte | texto en pantalla, titular*, cartel* de texto, texto | texto na tela,
  manchete*, cartela de texto, texto | testo a schermo, testo sullo schermo, titolo, scritta, testo | tekst op scherm,
  koptekst, tekstkaart*, tekst | plansza tekstowa, napis*, nagłówek, tekst na ekranie, tekst | 文字カード, テキストカード, 見出し,
  テキスト | 文字卡片, 文字卡, 大标题, 文本, 文字 | 文字卡片, 文字卡, 大標題, 文本, 文字 | 텍스트 카드, 제목, 자막 카드, 텍스트, 글자
subject=b-roll: zwischenschnitt*, archivmaterial | plan de coupe, images d’illustration | plano de recurso |
  imagem de apoio, imagens de apoio | immagini di copertura | sfeerbeeld* | przebitka, przebitki | Bロール,
  インサート映像 | 空镜头, 空镜 | 空鏡頭, 空鏡 | 비롤, 자료 화면
subject=chart: diagramm*, schaubild* | graphique*, diagramme* | gráfico*, gráfica*, diagrama* | gráfico* | grafico,
  grafici | grafiek*, diagram* | wykres* | グラフ, チャート, 図表 | 图表 | 圖表 | 차트, 그래프, 도표
subject=logo: logo, logos, firmenzeichen | logo, logos | logotipo*, logo | logotipo*, logo | logo, loghi | logo |
  logo | ロゴ | 标志, 商标 | 標誌, 商標 | 로고
subject=crowd: menschenmenge*, publikum, zuschauer* | foule* | multitud*, público, gente | multidão, público |
  folla, pubblico | menigte, publiek | tłum*, publiczność | 群衆, 観客, 人混み | 人群, 观众 | 人群, 觀眾 | 군중,
  관중
surface=camera: gefilmt*, realfilm, kameraaufnahme* | prise de vue réelle, filmé* | imagen real, filmad* | filmad*,
  imagem real | ripresa dal vero, filmat* | gefilmd* | nagrani* kamerą | 実写 | 实拍 | 實拍 | 실사
surface=screen-recording: bildschirmaufnahme*, bildschirmaufzeichnung* | capture d’écran, enregistrement d’écran |
  grabación de pantalla, captura de pantalla | gravação de tela, captura de tela | registrazione dello schermo,
  cattura dello schermo | schermopname* | nagranie ekranu | 画面録画, 画面収録 | 录屏, 屏幕录制 | 螢幕錄影,
  螢幕錄製 | 화면 녹화
surface=motion-graphics: bewegtgrafik*, animation*, animiert* | animation, animé*, motion design | animación,
  animad* | animação, animad* | animazione, animat* | animatie*, geanimeerd* | animacj*, animowan* | アニメーション,
  モーショングラフィックス | 动画, 动态图形 | 動畫, 動態圖形 | 애니메이션, 모션 그래픽
surface=3d-render: 3d rendering, 3d render* | rendu 3d | render 3d, renderizado 3d | renderização 3d, render 3d |
  rendering 3d, render 3d | 3d render | render 3d, grafika 3d | 3dレンダリング, 3dレンダー, 3dcg | 3d渲染,
  三维渲染 | 3d渲染, 三維渲染 | 3d 렌더링
surface=slide: folie, folien, präsentationsfolie* | diapositive*, diapo* | diapositiva* | diapositivo* |
  diapositiva, diapositive | presentatieslide* | slajd* | スライド | 幻灯片 | 投影片, 簡報 | 슬라이드
shot=no-face: ohne gesicht, kein gesicht | sans visage | sin cara, sin rostro | sem rosto | senza volto,
  senza viso | geen gezicht, zonder gezicht | bez twarzy | 顔なし | 没有人脸, 无人脸 | 沒有人臉, 無人臉 | 얼굴 없음
shot=corner-inset: gesicht, gesichter, gesicht in der ecke | visage*, visage dans le coin | cara, rostro*,
  cara en la esquina | rosto*, rosto no canto | volto, volti, viso, volto nell’angolo | gezicht, gezichten,
  gezicht in de hoek | twarz*, twarz w rogu | 顔, 隅の顔 | 人脸, 面部, 角落人脸 | 人臉, 面部, 角落人臉 | 얼굴,
  구석 얼굴
shot=wide-presenter: gesicht, gesichter, totale, weitwinkel | visage*, plan large, plan d’ensemble | cara, rostro*,
  plano general | rosto*, plano geral, plano aberto | volto, volti, viso, campo lungo | gezicht, gezichten,
  totaalshot | twarz*, plan ogólny, szeroki kadr | 顔, 全身ショット, ワイドショット | 人脸, 面部, 全景, 远景 | 人臉,
  面部, 全景, 遠景 | 얼굴, 와이드 샷, 전신
shot=medium-presenter: gesicht, gesichter, halbtotale, halbnah* | visage*, plan moyen, plan taille | cara, rostro*,
  plano medio | rosto*, plano médio | volto, volti, viso, mezzo busto, piano medio | gezicht, gezichten,
  medium shot | twarz*, plan średni | 顔, ミディアムショット | 人脸, 面部, 中景 | 人臉, 面部, 中景 | 얼굴, 미디엄 샷
shot=close-presenter: gesicht, gesichter, nahaufnahme*, großaufnahme*, porträt* | visage*, gros plan,
  gros plan sur un visage, portrait | cara, rostro*, primer plano, retrato* | rosto*, close no rosto,
  primeiro plano, plano fechado, retrato* | volto, volti, viso, primo piano, ritratto | gezicht, gezichten,
  close up van een gezicht, portret | twarz*, zbliżeni* twarzy, zbliżeni*, portret* | 顔, クローズアップ,
  顔のアップ, アップ | 人脸, 面部, 特写, 面部特写 | 人臉, 面部, 特寫, 面部特寫 | 얼굴, 클로즈업, 얼굴 클로즈업
tone=dark: dunkel, dunkl*, dunkelheit, düster*, auf schwarz, schwarzem hintergrund, schwarzer hintergrund, nachts |
  sombre*, obscur*, fond sombre, fond noir, sur noir, nocturne*, nuit | oscur*, fondo oscuro, fondo negro, noche |
  escur*, fundo escuro, fundo preto, noite | scuro, scura, scuri, scure, buio, buia, sfondo scuro, sfondo nero,
  notte | donker*, donkere achtergrond, zwarte achtergrond, nacht | ciemn*, ciemnym tle, czarnym tle, czarne tło,
  noc | 暗い, 暗め, ダーク, 黒背景, 黒い背景, 夜 | 深色, 暗色, 黑暗, 昏暗, 黑色背景, 黑底, 夜晚 | 深色, 暗色, 黑暗,
  昏暗, 黑色背景, 黑底, 夜晚 | 어두운, 어두움, 검은 배경, 검정 배경, 밤
tone=bright: helle, heller, helles, hellem, hellen, auf weiß, weißem hintergrund, weißer hintergrund, tageslicht |
  clair, claire, clairs, claires, lumineu*, fond clair, fond blanc, sur blanc, plein jour | claro*, clara, claras,
  luminos*, fondo claro, fondo blanco | claro*, clara, claras, luminos*, fundo claro, fundo branco | chiar*,
  luminos*, sfondo chiaro, sfondo bianco | lichte, helder*, witte achtergrond, lichte achtergrond | jasn*,
  jasnym tle, białym tle, białe tło | 明るい, 白背景, 白い背景 | 明亮, 浅色, 亮色, 白色背景, 白底 | 明亮, 淺色,
  亮色, 白色背景, 白底 | 밝은, 흰 배경, 하얀 배경
kind=cut: schnitt, schnitte | coupe franche | corte | corte | taglio, stacco | cut | cięcie | カット | 镜头切换 |
  鏡頭切換 | 컷
kind=intro: anfang, vorspann, eröffnung, am anfang | ouverture, début, au début | apertura, principio,
  al principio | abertura, início, no início | apertura, inizio, all’inizio | opening, aan het begin | otwarcie,
  początek, na początku | 冒頭, オープニング, 最初 | 片头, 开头, 开场 | 片頭, 開頭, 開場 | 오프닝, 도입부, 시작
zone=left: linke, linken, linker, links im bild | à gauche, gauche | izquierda | esquerda | sinistra | linkerkant |
  po lewej, lewo | 左, 左側 | 左侧, 左边 | 左側, 左邊 | 왼쪽
zone=right: rechts | à droite, droite | derecha | direita | destra | rechts | po prawej, prawo | 右, 右側 | 右侧,
  右边 | 右側, 右邊 | 오른쪽
zone=top: oben | en haut | arriba | em cima | in alto | boven | u góry | 上部 | 上方, 顶部 | 上方, 頂部 | 위쪽, 상단
zone=bottom: unten | en bas | abajo | embaixo | in basso | beneden, onder | na dole | 下部 | 下方, 底部 | 下方,
  底部 | 아래쪽, 하단
zone=center: mitte, in der mitte, zentriert* | au centre, centré* | en el centro, centrad* | no centro,
  centralizad* | al centro, centrat* | in het midden, gecentreerd* | na środku, wyśrodkowan* | 中央 | 居中, 中间,
  中央 | 置中, 中間, 中央 | 중앙, 가운데
color=black: schwarz* | noir* | negro*, negra* | preto*, preta* | nero, nera, neri, nere | zwart* | czarn* | 黒,
  黒い, 黒色 | 黑色 | 黑色 | 검은, 검정
color=grey: grau* | gris, grise, grises | gris, grises | cinza*, cinzent* | grigi* | grijs, grijze | szar* | 灰色,
  グレー | 灰色 | 灰色 | 회색
color=white: weiß* | blanc, blanche, blancs, blanches | blanco*, blanca* | branco*, branca* | bianc* | witte |
  biał* | 白, 白い, 白色 | 白色 | 白色 | 흰, 하얀, 흰색
color=red: rote, roter, rotes, rotem, roten | rouge* | rojo*, roja* | vermelh* | rosso, rossa, rossi, rosse | rood |
  czerwon* | 赤, 赤い, 赤色 | 红色 | 紅色 | 빨간, 빨강
color=orange: orangefarben* | orange | naranja*, anaranjad* | laranja* | arancion* | oranje | pomarańczow* |
  オレンジ, オレンジ色 | 橙色, 橘色 | 橙色, 橘色 | 주황, 주황색
color=yellow: gelb* | jaune* | amarill* | amarel* | giall* | geel, gele | żółt* | 黄色, 黄色い | 黄色 | 黃色 | 노란,
  노랑
color=green: grün, grüne, grüner, grünes, grünem, grünen | vert, verte, verts, vertes | verde, verdes | verde,
  verdes | verde, verdi | groen* | zielon* | 緑, 緑色 | 绿色 | 綠色 | 초록, 녹색
color=teal: türkis* | turquoise*, bleu canard | turquesa* | turquesa* | turchese | turquoise | turkus* | 青緑,
  ターコイズ | 青色, 蓝绿色 | 藍綠色 | 청록, 청록색
color=blue: blau* | bleu* | azul, azules | azul, azuis | blu, azzurr* | blauw* | niebiesk* | 青, 青い, 青色 | 蓝色 |
  藍色 | 파란, 파랑
color=purple: lila, violett* | violet* | morado*, morada*, violeta | roxo*, roxa* | colore viola | paars* |
  fioletow* | 紫, 紫色 | 紫色 | 紫色 | 보라, 보라색
color=pink: rosafarben*, pinkfarben* | couleur rose | rosado*, color rosa | cor de rosa | colore rosa | roze |
  różow* | ピンク, 桃色 | 粉色, 粉红色 | 粉色, 粉紅色 | 분홍, 분홍색
color=brown: braun* | brun, brune, bruns, brunes, marron | marrón, marrones | marrom | marrone, marroni | bruin* |
  brązow* | 茶色 | 棕色, 褐色 | 棕色, 褐色 | 갈색
color=warm: warme farben, warme töne, warmes licht | couleurs chaudes, tons chauds, lumière chaude | colores cálidos,
  tonos cálidos, luz cálida | cores quentes, tons quentes, luz quente | colori caldi, toni caldi, luce calda | warme
  kleuren, warme tinten, warm licht | ciepłe kolory, ciepłe barwy, ciepłe światło | 暖色, 暖色系 | 暖色, 暖色调 | 暖色, 暖色調 | 따뜻한
  색, 따뜻한 색감
color=cool: kühle farben, kalte farben | couleurs froides, tons froids | colores fríos, tonos fríos | cores frias,
  tons frios | colori freddi, toni freddi | koele kleuren, koude kleuren | zimne kolory, chłodne barwy | 寒色, 寒色系 | 冷色,
  冷色调 | 冷色, 冷色調 | 차가운 색, 차가운 색감
color=pastel: pastellfarben, pastelltöne, pastell | couleurs pastel, pastel | colores pastel, pastel | tons pastel,
  pastel | colori pastello, pastello | pastelkleuren, pastel | pastelowe kolory, pastelow* | パステル, パステルカラー | 粉彩, 柔和色彩
  | 粉彩, 柔和色彩 | 파스텔, 파스텔톤
color=vivid: bunt*, kräftige farben, leuchtende farben | couleurs vives, coloré* | colores vivos, colorid* | cores
  vivas, colorid* | colori vivaci, colorat* | felle kleuren, kleurrijk* | żywe kolory, kolorow* | カラフル, 鮮やか | 鲜艳, 色彩鲜艳
  | 鮮豔, 色彩鮮豔 | 화려한 색, 선명한 색
color=monochrome: schwarz weiß, einfarbig*, monochrom* | noir et blanc, monochrome* | blanco y negro, monocromátic* |
  preto e branco, monocromátic* | bianco e nero, monocromatic* | zwart wit, monochroom | czarno białe, czarno biały,
  monochromatyczn* | モノクロ, 白黒 | 黑白, 单色 | 黑白, 單色 | 흑백, 단색
part=opening: am anfang, zu beginn | au début | al principio, al comienzo | no início, no começo | all’inizio | aan
  het begin | na początku | 冒頭, 最初 | 开头 | 開頭 | 시작
part=ending: am ende, zum schluss | à la fin | al final | no final, no fim | alla fine | aan het einde | na końcu |
  最後, 終わり | 结尾, 最后 | 結尾, 最後 | 마지막, 끝
orientation=landscape: querformat | format horizontal, format paysage | formato horizontal, formato apaisado | formato
  horizontal, formato paisagem | formato orizzontale | liggend formaat | format poziomy | 横型, 横長 | 横屏, 横版 | 橫式, 橫版 |
  가로 영상
orientation=portrait: hochformat, hochkant | format vertical, vidéo verticale | formato vertical, vídeo vertical |
  formato vertical, vídeo vertical | formato verticale, video verticale | staand formaat, verticale video | format
  pionowy, pionowe wideo | 縦型, 縦長, 縦動画 | 竖屏, 竖版 | 直式, 豎版 | 세로 영상
faces=one: eine person, ein gesicht | une personne, un visage | una persona, una cara | uma pessoa, um rosto | una
  persona, un volto | een persoon, een gezicht | jedna osoba, jedna twarz | 一人, 1人 | 一个人, 单人 | 一個人, 單人 | 한 사람, 한 명
faces=two: zwei personen, zwei menschen, zwei gesichter | deux personnes, deux visages | dos personas, dos caras |
  duas pessoas, dois rostos | due persone, due volti | twee personen, twee mensen, twee gezichten | dwie osoby, dwie
  twarze | 二人, 2人 | 两个人, 两人 | 兩個人, 兩人 | 두 사람, 두 명
faces=several: mehrere personen, mehrere menschen | plusieurs personnes | varias personas | várias pessoas | più
  persone, diverse persone | meerdere mensen, meerdere personen | kilka osób | 複数人, 数人 | 多人, 几个人 | 多人, 幾個人 | 여러 사람, 여러
  명
space=lots: viel leerraum, viel weißraum, viel freie fläche, leere fläche | espace vide, beaucoup d’espace, espace
  négatif | espacio vacío, mucho espacio, espacio negativo | espaço vazio, muito espaço, espaço negativo | spazio
  vuoto, molto spazio, spazio negativo | lege ruimte, veel ruimte, witruimte | pusta przestrzeń, dużo miejsca | 余白,
  余白が多い | 留白, 大量留白 | 留白, 大量留白 | 여백, 여백이 많은
lettering=light-on-dark: weiß auf schwarz, weißer text, weiße schrift, helle schrift, weißer text auf schwarz, weiße
  schrift auf schwarz | blanc sur noir, texte blanc, lettres blanches, texte blanc sur noir | blanco sobre negro,
  texto blanco, letras blancas, texto blanco sobre negro | branco no preto, texto branco, letras brancas, texto branco
  sobre preto | bianco su nero, testo bianco, scritta bianca, testo bianco su nero | wit op zwart, witte tekst, witte
  letters, witte tekst op zwart | białe na czarnym, biały tekst, białe litery, biały tekst na czarnym | 黒地に白, 白い文字,
  白文字 | 黑底白字, 白色文字, 白字 | 黑底白字, 白色文字, 白字 | 흰 글씨, 흰 글자, 검은 배경에 흰 글씨
lettering=dark-on-light: schwarz auf weiß, schwarzer text, schwarze schrift, dunkle schrift, schwarzer text auf weiß |
  noir sur blanc, texte noir, lettres noires, texte noir sur blanc | negro sobre blanco, texto negro, letras negras,
  texto negro sobre blanco | preto no branco, texto preto, letras pretas | nero su bianco, testo nero, scritta nera |
  zwart op wit, zwarte tekst, zwarte letters | czarne na białym, czarny tekst, czarne litery | 白地に黒, 黒い文字, 黒文字 | 白底黑字,
  黑色文字, 黑字 | 白底黑字, 黑色文字, 黑字 | 검은 글씨, 검은 글자, 흰 배경에 검은 글씨
technique=before-after: vorher nachher, vergleich | avant après, comparaison | antes y después, comparación |
  antes e depois, comparação | prima e dopo, confronto | voor en na, vergelijking | przed i po, porównanie |
  ビフォーアフター, 比較 | 前后对比, 对比 | 前後對比, 對比 | 비교, 전후 비교
technique=big-number: große zahl, kennzahl* | grand chiffre, chiffre clé | número grande, cifra* | número grande |
  numero grande, cifra | groot getal, kerncijfer* | duża liczba | 大きな数字 | 大数字 | 大數字 | 큰 숫자
technique=burned-in-captions: untertitel* | sous titre*, sous titres | subtítulo*, subtitulad* | legenda* |
  sottotitol* | ondertitel* | napisy | 字幕 | 字幕 | 字幕 | 자막
technique=chart-growth: animiertes diagramm, wachsendes diagramm | graphique animé | gráfico animado |
  gráfico animado | grafico animato | geanimeerde grafiek | animowany wykres | 動くグラフ | 动态图表 | 動態圖表 |
  움직이는 그래프
technique=chat-thread: chatverlauf, sprechblase* | fil de discussion, bulle* de chat | hilo de chat, conversación |
  conversa, balão de chat | conversazione, chat | chatgesprek | czat | チャット | 聊天 | 聊天 | 채팅
technique=code-reveal: quellcode, code editor | code source, éditeur de code | código fuente, código | código fonte,
  código | codice sorgente, codice | broncode | kod źródłowy | コード, ソースコード | 代码 | 程式碼 | 코드
technique=customer-testimonial: kundenstimme*, kundenbericht* | témoignage*, témoignage client | testimonio* |
  depoimento* | testimonianz* | klantverhaal, getuigenis | opinia klienta, referencj* | お客様の声 | 客户证言 |
  客戶見證 | 고객 후기
technique=device-mockup: gerätemockup* | maquette d’appareil | maqueta de dispositivo | maquete de dispositivo |
  mockup del dispositivo | apparaatmockup | makieta urządzenia | デバイスモックアップ | 设备样机 | 裝置樣機 |
  기기 목업
technique=drone-establishing: luftaufnahme*, drohnenaufnahme*, von oben, vogelperspektive | vue aérienne,
  plan aérien, drone | vista aérea, toma aérea, dron | vista aérea, tomada aérea | vista aerea, ripresa aerea,
  dall’alto | luchtopname*, vanuit de lucht | z lotu ptaka, ujęcie z drona | 空撮, ドローン | 航拍, 俯瞰 | 空拍,
  航拍, 俯瞰 | 항공 촬영, 드론
technique=end-card: abspann, schlussbild*, endkarte*, am ende | carton de fin, écran de fin, à la fin |
  tarjeta final, pantalla final, al final | tela final, cartela final, no final, no fim | schermata finale,
  alla fine | eindkaart, eindscherm, aan het einde | plansza końcowa, na końcu | エンドカード, エンディング, 最後 |
  片尾, 结尾, 最后 | 片尾, 結尾, 最後 | 엔딩, 마지막, 엔드 카드
technique=fade-through-black: schwarzblende* | fondu au noir | fundido a negro | fade para preto |
  dissolvenza in nero | fade naar zwart | ściemnienie | 暗転, 黒フェード | 淡出黑场 | 淡出黑場 | 암전
technique=gradient-wash: farbverlauf, verlauf | dégradé* | degradado* | gradiente, degradê | sfumatura, gradiente |
  kleurverloop | gradient* | グラデーション | 渐变 | 漸層 | 그라데이션
technique=hands-at-work: hände bei der arbeit, hände | mains au travail | manos trabajando, manos |
  mãos trabalhando, mãos | mani al lavoro | handen aan het werk, handen | dłonie przy pracy, ręce | 手元,
  作業する手 | 手部特写 | 手部特寫 | 손 작업, 손동작
technique=hero-product-shot: produktaufnahme*, produktfoto* | packshot, plan produit | toma de producto |
  foto de produto | inquadratura del prodotto | productshot | ujęcie produktu | 商品カット | 产品特写 | 產品特寫 |
  제품 샷
technique=in-hand-device: gerät in der hand, hand hält ein handy, hand hält ein telefon | téléphone en main |
  teléfono en la mano, mano con un móvil | celular na mão, telefone na mão | telefono in mano |
  telefoon in de hand | telefon w dłoni, telefon w ręce | スマホを持つ手 | 手持手机 | 手持手機 | 손에 든 휴대폰,
  휴대폰을 든 손
technique=kinetic-type: bewegte schrift, animierte schrift, animierter text | texte animé, typographie cinétique |
  texto animado, tipografía cinética | texto animado, tipografia cinética | testo animato, tipografia cinetica |
  geanimeerde tekst | animowany tekst | 動く文字, キネティックタイポグラフィ | 动态文字 | 動態文字 | 움직이는 글자
technique=logo-reveal: logoanimation*, animiertes logo | logo animé | logotipo animado, logo animado | logo animado,
  logotipo animado | logo animato | geanimeerd logo | animacja logo, animowane logo | ロゴアニメーション |
  标志动画 | 標誌動畫 | 로고 애니메이션
technique=logo-wall: logowand, kundenlogos | mur de logos | muro de logotipos | mural de logos | muro di loghi |
  logowand | ściana logo | ロゴ一覧 | 标志墙 | 標誌牆 | 로고 월
technique=lower-third: bauchbinde* | synthé, bandeau de nom | rótulo inferior | tarja de nome | sottopancia |
  naamtitel | belka z nazwiskiem | 名前テロップ, テロップ | 人名条, 下三分之一 | 人名條 | 하단 자막
technique=macro-detail: makroaufnahme*, makro, nahaufnahme*, detailaufnahme* | plan macro, gros plan | primer plano,
  macro | plano macro, primeiro plano | primo piano, ripresa macro | macro opname | ujęcie makro, zbliżeni* |
  マクロ, クローズアップ | 微距, 特写 | 微距, 特寫 | 매크로, 클로즈업
technique=map-flyover: landkarte*, kartenflug | carte animée, carte du monde | mapa animado, mapa* | mapa* | mappa,
  mappe | landkaart | mapa, mapy | 地図 | 地图 | 地圖 | 지도
technique=notification-cascade: benachrichtigung* | notification* | notificacion*, notificación | notificação,
  notificações | notifica, notifiche | meldingen | powiadomieni* | 通知 | 通知 | 通知 | 알림
technique=picture-in-picture: bild in bild, webcam in der ecke | incrustation webcam, image dans l’image |
  imagen en imagen | imagem na imagem | immagine nell’immagine | beeld in beeld | obraz w obrazie |
  ピクチャーインピクチャー, ワイプ | 画中画 | 子母畫面, 畫中畫 | 화면 속 화면
technique=quote-card: zitat, zitate | citation* | cita, citas | citação, citações | citazione, citazioni | citaat,
  citaten | cytat* | 引用 | 引言, 引用 | 引言, 引用 | 인용문
technique=reaction-shot: reaktion, reaktionen | réaction* | reacción* | reação, reações | reazione | reactie* |
  reakcj* | リアクション | 反应镜头 | 反應鏡頭 | 리액션
technique=screen-walkthrough: produktführung, rundgang | visite guidée, démonstration | recorrido, demostración |
  demonstração | dimostrazione, tour guidato | rondleiding | prezentacja produktu | 画面デモ, 操作デモ | 操作演示,
  演示 | 操作示範 | 화면 시연
technique=shallow-focus-b-roll: unscharfer hintergrund, geringe schärfentiefe | arrière plan flou,
  faible profondeur de champ | fondo desenfocado, fondo borroso | fundo desfocado | sfondo sfocato |
  onscherpe achtergrond | rozmyte tło | ぼけ背景, 背景ぼかし | 背景虚化, 浅景深 | 背景虛化, 淺景深 | 배경 흐림,
  아웃포커스
technique=split-screen: geteilter bildschirm, geteilte* bild*, splitscreen | écran partagé, écran divisé |
  pantalla dividida | tela dividida | schermo diviso | gesplitst scherm | podzielony ekran | 画面分割, 分割画面 |
  分屏 | 分割畫面 | 화면 분할, 분할 화면
technique=stage-keynote: auf der bühne, bühne, vortrag | sur scène | en el escenario, conferencia | no palco,
  palestra | sul palco, conferenza | op het podium, podium | na scenie | 基調講演, ステージ | 主题演讲, 舞台 |
  主題演講, 舞台 | 기조연설, 무대
technique=stop-motion: stop motion | image par image | stop motion | stop motion | stop motion | stop motion |
  animacja poklatkowa | コマ撮り, ストップモーション | 定格动画 | 定格動畫 | 스톱모션
technique=street-interview: straßenumfrage, straßeninterview* | micro trottoir | entrevista en la calle |
  entrevista na rua | intervista per strada | straatinterview* | sonda uliczna | 街頭インタビュー | 街头采访 |
  街頭訪問 | 길거리 인터뷰
technique=talking-head: spricht in die kamera, in die kamera | face caméra, parle à la caméra | hablando a cámara,
  a cámara | falando para a câmera | parla in camera, guarda in camera | praat tegen de camera | mówi do kamery,
  do kamery | カメラ目線, カメラに向かって話す | 对着镜头说话, 面对镜头 | 對著鏡頭說話, 面對鏡頭 |
  카메라를 보고 말하는
technique=terminal-typing: tippen im terminal | frappe dans le terminal | escribiendo en la terminal |
  digitando no terminal | digitazione nel terminale | typen in de terminal | pisanie w terminalu | コマンド入力 |
  输入命令 | 輸入指令 | 명령 입력
technique=time-lapse: zeitraffer* | accéléré, time lapse | cámara rápida, lapso de tiempo | câmera rápida |
  accelerato | versneld beeld | film poklatkowy, przyspieszone tempo | タイムラプス, 早送り | 延时摄影, 延时 |
  縮時攝影, 縮時 | 타임랩스
technique=timeline-scrub: zeitstrahl, zeitachse | chronologie, frise chronologique | línea de tiempo |
  linha do tempo | linea temporale | tijdlijn | oś czasu | 年表, タイムライン | 时间线, 时间轴 | 時間軸 | 타임라인
technique=title-card: titelkarte*, titeltafel* | carton de titre, carte de titre, carton titre | tarjeta de título |
  cartela de título | cartello del titolo | titelkaart* | plansza tytułowa | タイトルカード | 标题卡, 标题卡片 |
  標題卡 | 타이틀 카드
technique=two-hander: zwei personen, zwei menschen | deux personnes | dos personas | duas pessoas | due persone |
  twee personen, twee mensen | dwie osoby | 二人, 2人 | 两个人, 两人 | 兩個人, 兩人 | 두 사람
technique=turntable: drehendes produkt, rotierendes produkt | produit qui tourne, produit en rotation |
  producto giratorio | produto girando | prodotto rotante | draaiend product | obracający się produkt |
  回転する製品 | 旋转的产品, 产品旋转 | 旋轉的產品 | 회전하는 제품`

/** What weighs nothing in these languages. Single letters but `l` and `d`, and most English words, are left out. */
const FUNCTION_WORDS = `
  der das ein eine einer eines einem einen und oder aber mit auf im vom zum zur für ist sind über unter aus dem den des
  bei
  le la les un une des du de l d ou mais avec sur sous dans au aux qui est et ce cette
  el los las una unos unas pero del con sobre para por que en al se
  um uma uns umas da dos das em na nas nos do ao
  il lo gli uno di dello della dei degli delle su sul sullo sulla per dal dalla alla che nel nella
  het een maar met op aan voor naar uit bij
  ze od dla oraz przez jest`

/** What leaves out that which follows it. Italian “non” is left out: English has it in non-profit. */
const EXCLUSIONS = `ohne, nicht, außer, sans, sauf, pas, excepté, sin, excepto, todo menos, sem, exceto, não,
  tudo menos, senza, tranne, eccetto, zonder, behalve, niet, bez, oprócz, nie`

/** Of Japanese, Chinese and Korean: what stands beside the words of the table. */
const PARTICLES = `
  の と に を が で は も から へ や で な した する いる ある ている 的 了 在 上 里 裡 中 和 与 與 有 着 著 一个 一個
  을 를 이 가 은 는 의 에 에서 로 으로 와 과 도 있는 하는`

const ZONES: Readonly<Record<string, RegExp>> = {
  'zone=left': /-left$/,
  'zone=right': /-right$/,
  'zone=top': /^top-/,
  'zone=bottom': /^bottom-/,
  'zone=center': /-center$/,
}

/** Each phrase with what it names. `zones`: the values of a zone. */
export function foreignPhrases(zones: readonly string[]): { phrase: string; named: string }[] {
  return TABLE.trim()
    .split(/\n(?=\S)/)
    .flatMap((row) => {
      const colon = row.indexOf(': ')
      const value = row.slice(0, colon)
      const zone = ZONES[value]
      const named = zone ? zones.filter((one) => zone.test(one)).map((one) => `zone=${one}`) : [value]
      const phrases = row.slice(colon + 2).split(/[,|]/)
      return phrases.flatMap((phrase) => named.map((one) => ({ phrase: phrase.trim(), named: one })))
    })
}

export const foreignExclusions = (): string[] => EXCLUSIONS.split(/,\s+/)
export const foreignFunctionWords = (): string[] => FUNCTION_WORDS.trim().split(/\s+/)
export const particles = (): string[] => PARTICLES.trim().split(/\s+/)
