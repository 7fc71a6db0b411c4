import { judgedLines, type Phrase } from './judged-phrases.ts'

/**
 * Phrases of 23 November 2026 over the frames of `judged-frames.json`, judged by attributes and texts before the table
 * of other languages was written. Nobody tunes by those held out: forty in five languages.
 */

const TERMINALS = '3: deploy-log m-terminal inset-dark; 1: bright-shell'
const FACES = '3: founder-close customer-close m-presenter-close'
const CHARTS = '3: growth-bright m-chart; 1: latency-dark'
const CROWDS = '3: crowd-hall crowd-park m-crowd'
const RENDERS = '3: watch-render phone-exploded; 1: bottle-desk'

export const LANGUAGE_PHRASES: Record<'tuned' | 'held', readonly Phrase[]> = {
  tuned: judgedLines(`
talking to camera | ${FACES} host-medium m-presenter-medium; 2: street-medium keynote-wide
white text on black | 3: promise-black m-card-dark number-black end-dark
webcam bubble | 3: inset-demo inset-dark m-inset
dark terminl | ${TERMINALS}
黑色终端 | ${TERMINALS}
深色背景的终端 | ${TERMINALS}
明亮的圖表 | ${CHARTS}
어두운 터미널 | ${TERMINALS}
얼굴 클로즈업 | ${FACES}
Terminal mit dunklem Hintergrund | ${TERMINALS}
geteilter Bildschirm | 3: split-tools
terminale scuro | ${TERMINALS}
primo piano di un volto | ${FACES}
grafico su sfondo chiaro | ${CHARTS}
terminal escuro | ${TERMINALS}
multidão | ${CROWDS}
donkere terminal | ${TERMINALS}
menigte | ${CROWDS}
ciemny terminal | ${TERMINALS}
zbliżenie twarzy | ${FACES}
`),
  held: judgedLines(`
dark screen recordings of a terminal | ${TERMINALS}
chart on a light background | ${CHARTS}
crowd at night | 3: crowd-hall; 1: crowd-park m-crowd
logo that opens the film | 3: logo-night; 1: logo-day
product render on a dark backdrop | 3: watch-render; 1: phone-exploded
webcam in the corner of a settings page | 3: inset-demo; 2: m-inset inset-dark
bright video of someone talking to camera | 3: host-medium customer-close m-presenter-medium; 2: street-medium
hands shaping clay | 3: hands-clay
dunkles Terminal | ${TERMINALS}
Logo auf schwarzem Hintergrund | 3: logo-night; 1: logo-day
Nahaufnahme einer Person | ${FACES}
helles Diagramm | ${CHARTS}
Menschenmenge im Dunkeln | 3: crowd-hall; 1: crowd-park m-crowd
Texttafel mit weißem Hintergrund | 3: question-white quote-bright m-card-bright slide-plan; 1: type-moves
Luftaufnahme | 3: city-drone
Zeitraffer | 3: servers-lapse
gros plan sur un visage | ${FACES}
terminal sur fond sombre | ${TERMINALS}
graphique animé | 3: growth-bright; 2: latency-dark m-chart
logo sur fond noir | 3: logo-night; 1: logo-day
écran partagé | 3: split-tools
foule en plein jour | 3: crowd-park m-crowd; 1: crowd-hall
carton de titre clair | 3: question-white m-card-bright; 1: promise-black m-card-dark
rendu 3D d'un produit | ${RENDERS}
terminal oscura | ${TERMINALS}
primer plano de una persona | ${FACES}
gráfico sobre fondo claro | ${CHARTS}
multitud | ${CROWDS}
pantalla dividida | 3: split-tools
grabación de pantalla clara | 3: inbox-bright m-ui-bright bright-shell inset-demo
logotipo animado | 3: logo-night; 1: logo-day
vista aérea | 3: city-drone
暗いターミナル | ${TERMINALS}
顔のクローズアップ | ${FACES}
明るいグラフ | ${CHARTS}
群衆 | ${CROWDS}
ロゴ 黒い背景 | 3: logo-night; 1: logo-day
画面分割 | 3: split-tools
空撮 | 3: city-drone
3Dレンダリングの製品 | ${RENDERS}
`),
}
