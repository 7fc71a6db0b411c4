import { expect, test } from 'vitest'
import { ATTRIBUTES, byName, COUNTED, DERIVED, isListed } from '../../vocabulary.ts'
import { COLOR_NAMES } from '../color.ts'
import { readQuestion } from '../text/question.ts'
import { ENGLISH } from './words.ts'

/** Two phrases of each language that nobody tuned the table by. */
const PHRASES: [q: string, ...named: string[]][] = [
  ['Sprecherin vor dunklem Hintergrund', 'subject=presenter', 'tone=dark'],
  ['animiertes Balkendiagramm in Blau', 'color=blue'],
  ['présentateur face caméra', 'subject=presenter', 'technique=talking-head'],
  ['capture d’écran claire', 'surface=screen-recording', 'tone=bright'],
  ['gráficos animados en azul', 'technique=chart-growth', 'color=blue'],
  ['logotipo al final del vídeo', 'subject=logo', 'technique=end-card'],
  ['multidão em um palco escuro', 'subject=crowd', 'tone=dark'],
  ['gravação de tela com legendas', 'surface=screen-recording', 'technique=burned-in-captions'],
  ['primo piano su sfondo nero', 'shot=close-presenter', 'tone=dark'],
  ['logo rosso al centro', 'subject=logo', 'color=red', 'zone=middle-center'],
  ['schermopname met ondertitels', 'surface=screen-recording', 'technique=burned-in-captions'],
  ['blauwe grafiek op een lichte achtergrond', 'color=blue', 'subject=chart', 'tone=bright'],
  ['wykres na białym tle', 'subject=chart', 'tone=bright'],
  ['podzielony ekran z terminalem', 'technique=split-screen', 'subject=terminal'],
  ['青いグラフのアニメーション', 'color=blue', 'subject=chart', 'surface=motion-graphics'],
  ['カメラ目線の人物', 'technique=talking-head', 'subject=presenter'],
  ['白色背景的产品', 'tone=bright', 'subject=product'],
  ['红色标志', 'color=red', 'subject=logo'],
  ['黑色背景的標誌', 'tone=dark', 'subject=logo'],
  ['螢幕錄影中的終端機', 'surface=screen-recording', 'subject=terminal'],
  ['어두운 화면의 차트', 'tone=dark', 'subject=chart'],
  ['무대 위의 발표자', 'technique=stage-keynote', 'subject=presenter'],
]

test.each(PHRASES)('%s means what it says', (q, ...named) => {
  expect(readQuestion(q).wanted.flatMap((one) => one.named)).toEqual(expect.arrayContaining(named))
})

test('function words of other languages weigh nothing', () => {
  const counted = (q: string) => readQuestion(q).wanted.map(({ text }) => text)
  expect(counted('ein Terminal mit dem Logo')).toEqual(['terminal', 'logo'])
  expect(counted('le terminal et la foule')).toEqual(['terminal', 'foule'])
  expect(counted('黑色的终端')).toEqual(['黑色', '终端'])
  expect(counted('어두운 터미널의 로고')).toEqual(['어두운', '터미널', '로고'])
})

test('words that English has with another meaning name nothing', () => {
  for (const q of 'rot hell rose main wit van clarity grunge brunch slider scurry links'.split(' '))
    expect(
      readQuestion(q).wanted.flatMap((one) => one.named),
      q,
    ).toEqual([])
})

test('English has words for every value of a closed list, every colour, and what follows from measures', () => {
  const lists = { ...byName(COUNTED.filter(isListed), (name) => ATTRIBUTES[name].values), color: COLOR_NAMES }
  const values = Object.entries(lists).flatMap(([attribute, those]) => those.map((value) => `${attribute}=${value}`))
  const named = new Set(ENGLISH.attributes.flatMap((one) => [one.named, one.named.split('=')[0]!]))
  expect([...values, ...DERIVED].filter((one) => !named.has(one))).toEqual(['zone=none', 'described'])
})
