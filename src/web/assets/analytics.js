// Makes the chart of days zoomable, and the tiles choose it. The figures come from the table below it: without script
// the chart stays as it is.
import { announce, loadPage, on, swap, tell } from './core.js'
import uPlot from './uplot.js'

const HEIGHT = 260
const dark = matchMedia('(prefers-color-scheme: dark)')
/** @type {(() => void)[]} */
const draws = []

function enhanceAll() {
  draws.length = 0
  for (const figure of document.querySelectorAll('figure[data-zoom]'))
    if (figure instanceof HTMLElement) enhance(figure)
}
enhanceAll()
dark.addEventListener('change', () => {
  for (const draw of draws) draw()
})

/** @param {HTMLElement} figure */
function enhance(figure) {
  const table = figure.querySelector('table')
  const chart = figure.querySelector('svg.chart')
  const names = figure.querySelector('.legend')
  if (!table || !chart || !(names instanceof HTMLElement) || table.tBodies[0]?.rows.length === 0) return
  const { labels, data } = readTable(table)
  const place = document.createElement('div')
  place.className = 'plot'
  // Those who cannot see it have the table.
  place.setAttribute('aria-hidden', 'true')
  chart.before(place)
  const hint = document.createElement('p')
  hint.className = 'hint'
  hint.textContent = 'Drag across days to look closer. A double click shows all of them again.'
  place.after(hint)
  chart.classList.add('visually-hidden')

  /** @type {uPlot | undefined} */
  let plot
  const draw = () => {
    plot?.destroy()
    plot = new uPlot(
      { ...optionsOf(names, labels, figure.dataset.zoom ?? ''), width: place.clientWidth || 600, height: HEIGHT },
      data,
      place,
    )
  }
  draws.push(draw)
  draw()
  names.hidden = true
  new ResizeObserver(() => {
    if (place.clientWidth > 0) plot?.setSize({ width: place.clientWidth, height: HEIGHT })
  }).observe(place)
}

/**
 * Days in seconds, and one list for each column.
 * @param {HTMLTableElement} table
 * @returns {{ labels: string[], data: uPlot.AlignedData }}
 */
function readTable(table) {
  const labels = [...(table.tHead?.rows[0]?.cells ?? [])].slice(1).map((cell) => cell.textContent ?? '')
  const rows = [...(table.tBodies[0]?.rows ?? [])]
  const days = rows.map((row) => Date.parse(`${row.cells[0]?.textContent}T00:00:00Z`) / 1_000)
  const columns = labels.map((_, n) => rows.map((row) => toNumber(row.cells[n + 1]?.dataset.value)))
  return { labels, data: [days, ...columns] }
}

/** @param {string | undefined} text */
function toNumber(text) {
  return text === undefined || text === '' ? null : Number(text)
}

/**
 * Colours are those of the chart that it stands for.
 * @param {HTMLElement} names
 * @param {string[]} labels
 * @param {string} prefix what stands before a figure
 * @returns {Omit<uPlot.Options, 'width' | 'height'>}
 */
function optionsOf(names, labels, prefix) {
  const style = getComputedStyle(document.documentElement)
  const soft = style.getPropertyValue('--soft')
  const line = style.getPropertyValue('--line')
  const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } }
  // An axis that counts has whole steps: there is no half save.
  const whole = Array.from({ length: 10 }, (_, n) => [1, 2, 5].map((step) => step * 10 ** n)).flat()
  const paths = [...names.querySelectorAll('path')]
  return {
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'UTC'),
    scales: { y: { range: (_, _low, high) => [0, (high > 0 ? high : 1) * 1.05] } },
    axes: [
      { ...axis, values: (_, days) => days.map(dayLabel) },
      {
        ...axis,
        size: 60,
        ...(prefix === '' ? { incrs: whole } : {}),
        values: (_, figures) => figures.map((figure) => `${prefix}${figure}`),
      },
    ],
    series: [
      { label: 'Day', value: '{YYYY}-{MM}-{DD}' },
      ...labels.map((label, n) => ({
        label,
        stroke: paths[n] ? getComputedStyle(paths[n]).stroke : soft,
        dash: paths[n] ? dashOf(getComputedStyle(paths[n]).strokeDasharray) : [],
        value: (/** @type {uPlot} */ _, /** @type {number | null} */ figure) =>
          figure === null ? '' : `${prefix}${figure}`,
        width: 2,
        points: { show: false },
      })),
    ],
  }
}

/** @param {number} seconds */
function dayLabel(seconds) {
  const day = { month: 'short', day: 'numeric', timeZone: 'UTC' }
  return new Date(seconds * 1_000).toLocaleDateString('en', /** @type {Intl.DateTimeFormatOptions} */ (day))
}

/** @param {string} text */
function dashOf(text) {
  return (text.match(/[\d.]+/g) ?? []).map(Number)
}

// A range is asked for as soon as both days are there.
on('change', '.range input', (_event, target) => {
  const form = target.closest('form')
  if (form instanceof HTMLFormElement && form.checkValidity()) form.requestSubmit()
})

// A tile shows its days in the chart, which stays where it is.
on('click', '.totals a', async (/** @type {MouseEvent} */ event, link) => {
  if (!(link instanceof HTMLAnchorElement) || event.metaKey || event.ctrlKey || event.shiftKey) return
  event.preventDefault()
  try {
    swap(await loadPage(link.href), 'totals', 'chart')
    enhanceAll()
    history.replaceState(null, '', link.href)
    announce(`${document.querySelector('#chart h2')?.textContent} is shown.`)
  } catch (error) {
    tell(error, () => link.click())
  }
})
