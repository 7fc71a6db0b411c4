import type { Phrase } from './judged-phrases.ts'

/**
 * Phrases of 23 November 2026 over the frames of `judged-phrases.json`, judged by attributes and texts before the table
 * of other languages was written. Nobody tunes by those held out: forty in five languages.
 */

/** `3: keys; 2: keys; 1: keys`, the frames by how well they fit. */
function judged(q: string, grades: string): Phrase {
  const wanted: Record<string, number> = {}
  for (const part of grades.split(';')) {
    const [grade, keys] = part.split(':') as [string, string]
    for (const key of keys.trim().split(/\s+/)) wanted[key] = Number(grade)
  }
  return { q, wanted }
}

const TERMINALS = '3: deploy-log m-terminal inset-dark; 1: bright-shell'
const FACES = '3: founder-close customer-close m-presenter-close'
const CHARTS = '3: growth-bright m-chart; 1: latency-dark'
const CROWDS = '3: crowd-hall crowd-park m-crowd'
const RENDERS = '3: watch-render phone-exploded; 1: bottle-desk'

export const LANGUAGE_PHRASES: Record<'tuned' | 'held', readonly Phrase[]> = {
  tuned: [
    judged(
      'talking to camera',
      '3: founder-close host-medium customer-close m-presenter-close m-presenter-medium; ' +
        '2: street-medium keynote-wide',
    ),
    judged('white text on black', '3: promise-black m-card-dark number-black end-dark'),
    judged('webcam bubble', '3: inset-demo inset-dark m-inset'),
    judged('dark terminl', TERMINALS),
    judged('黑色终端', TERMINALS),
    judged('深色背景的终端', TERMINALS),
    judged('明亮的圖表', CHARTS),
    judged('어두운 터미널', TERMINALS),
    judged('얼굴 클로즈업', FACES),
    judged('Terminal mit dunklem Hintergrund', TERMINALS),
    judged('geteilter Bildschirm', '3: split-tools'),
    judged('terminale scuro', TERMINALS),
    judged('primo piano di un volto', FACES),
    judged('grafico su sfondo chiaro', CHARTS),
    judged('terminal escuro', TERMINALS),
    judged('multidão', CROWDS),
    judged('donkere terminal', TERMINALS),
    judged('menigte', CROWDS),
    judged('ciemny terminal', TERMINALS),
    judged('zbliżenie twarzy', FACES),
  ],
  held: [
    judged('dark screen recordings of a terminal', TERMINALS),
    judged('chart on a light background', CHARTS),
    judged('crowd at night', '3: crowd-hall; 1: crowd-park m-crowd'),
    judged('logo that opens the film', '3: logo-night; 1: logo-day'),
    judged('product render on a dark backdrop', '3: watch-render; 1: phone-exploded'),
    judged('webcam in the corner of a settings page', '3: inset-demo; 2: m-inset inset-dark'),
    judged(
      'bright video of someone talking to camera',
      '3: host-medium customer-close m-presenter-medium; 2: street-medium',
    ),
    judged('hands shaping clay', '3: hands-clay'),
    judged('dunkles Terminal', TERMINALS),
    judged('Logo auf schwarzem Hintergrund', '3: logo-night; 1: logo-day'),
    judged('Nahaufnahme einer Person', FACES),
    judged('helles Diagramm', CHARTS),
    judged('Menschenmenge im Dunkeln', '3: crowd-hall; 1: crowd-park m-crowd'),
    judged(
      'Texttafel mit weißem Hintergrund',
      '3: question-white quote-bright m-card-bright slide-plan; 1: type-moves',
    ),
    judged('Luftaufnahme', '3: city-drone'),
    judged('Zeitraffer', '3: servers-lapse'),
    judged('gros plan sur un visage', FACES),
    judged('terminal sur fond sombre', TERMINALS),
    judged('graphique animé', '3: growth-bright; 2: latency-dark m-chart'),
    judged('logo sur fond noir', '3: logo-night; 1: logo-day'),
    judged('écran partagé', '3: split-tools'),
    judged('foule en plein jour', '3: crowd-park m-crowd; 1: crowd-hall'),
    judged('carton de titre clair', '3: question-white m-card-bright; 1: promise-black m-card-dark'),
    judged("rendu 3D d'un produit", RENDERS),
    judged('terminal oscura', TERMINALS),
    judged('primer plano de una persona', FACES),
    judged('gráfico sobre fondo claro', CHARTS),
    judged('multitud', CROWDS),
    judged('pantalla dividida', '3: split-tools'),
    judged('grabación de pantalla clara', '3: inbox-bright m-ui-bright bright-shell inset-demo'),
    judged('logotipo animado', '3: logo-night; 1: logo-day'),
    judged('vista aérea', '3: city-drone'),
    judged('暗いターミナル', TERMINALS),
    judged('顔のクローズアップ', FACES),
    judged('明るいグラフ', CHARTS),
    judged('群衆', CROWDS),
    judged('ロゴ 黒い背景', '3: logo-night; 1: logo-day'),
    judged('画面分割', '3: split-tools'),
    judged('空撮', '3: city-drone'),
    judged('3Dレンダリングの製品', RENDERS),
  ],
}
