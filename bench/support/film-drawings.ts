import sharp from 'sharp'
import { between, eased, HEIGHT, type Picture, type Shot, WIDTH, type Workshop } from './film-pictures.ts'

const WORDS = 'deploy preview branch member invoice search window result cluster report editor metric'.split(' ')
const INKS = ['#1f6feb', '#d1242f', '#1a7f37', '#9a6700', '#8250df', '#0f766e', '#e85d9f', '#f2cc60']
const PAPERS = ['#ffffff', '#0d1117', '#f6f1e7', '#1e1b4b', '#fff7ed', '#0b3d2e']

function draw(content: string): Promise<Picture> {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}">${content}</svg>`
  return sharp(Buffer.from(svg)).removeAlpha().raw().toBuffer()
}

function one<T>({ random }: Workshop, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)]!
}

/** A recording of a screen: one shot, however much happens in its windows. */
export async function screen(shop: Workshop, length: number): Promise<Shot> {
  const dark = shop.random() < 0.5
  const [paper, ink, bar] = dark ? ['#0d1117', '#c9d1d9', '#30363d'] : ['#ffffff', '#24292f', '#d0d7de']
  const pages = [page(shop, ink), page(shop, ink)]
  const scrollAt = between(shop, 20, 50)
  const scroll = between(shop, 120, 420)
  const slow = shop.random() < 0.5 ? between(shop, 8, 25) : 1
  const popupAt = between(shop, 70, 100)
  const switchAt = between(shop, 110, 130)
  const pictures = Array.from({ length }, (_, i) => {
    const top = scroll * eased(Math.min(1, Math.max(0, (i - scrollAt) / slow)))
    const popup =
      i >= popupAt && i < popupAt + 30
        ? `<rect x="220" y="110" width="240" height="150" rx="8" fill="${bar}"/>
           <text x="240" y="150" font-size="18" fill="${ink}">Delete it?</text>`
        : ''
    const typed = 'npm run deploy -- --all'.slice(0, Math.floor(i / 3))
    const shown = pages[i < switchAt ? 0 : 1]
    return draw(`<rect width="640" height="360" fill="#3b4a6b"/><rect width="640" height="22" fill="${bar}"/>
      <rect x="30" y="34" width="580" height="300" rx="8" fill="${paper}"/>
      <svg x="150" y="60" width="450" height="246"><g transform="translate(0 ${-top})">${shown}</g></svg>
      <rect x="30" y="34" width="580" height="24" fill="${bar}"/>
      <rect x="30" y="58" width="110" height="276" fill="${bar}"/>
      <text x="160" y="326" font-family="DejaVu Sans Mono" font-size="12" fill="${ink}">$ ${typed}</text>${popup}`)
  })
  return Promise.all(pictures)
}

function page(shop: Workshop, ink: string): string {
  return Array.from({ length: 46 }, (_, n) => {
    const y = 18 + n * 18
    if (n % 9 === 6)
      return `<rect x="8" y="${y}" width="${between(shop, 160, 420)}" height="14" fill="${one(shop, INKS)}"/>`
    const text = Array.from({ length: between(shop, 3, 7) }, () => one(shop, WORDS)).join(' ')
    const size = n % 9 === 0 ? 18 : 12
    return `<text x="8" y="${y}" font-family="DejaVu Sans" font-size="${size}" fill="${ink}">${text}</text>`
  }).join('')
}

/** One scene of drawn figures that come in, move and turn. */
export async function animated(shop: Workshop, length: number): Promise<Shot> {
  const paper = one(shop, PAPERS)
  const figures = Array.from({ length: between(shop, 3, 7) }, (_, n) => {
    const [x, y, dx, dy] = [
      between(shop, 40, 600),
      between(shop, 40, 320),
      between(shop, -160, 160),
      between(shop, -90, 90),
    ]
    return { x, y, dx, dy, size: between(shop, 30, 150), ink: one(shop, INKS), round: shop.random() < 0.5, from: n * 4 }
  })
  const turn = between(shop, -120, 120)
  return Promise.all(
    Array.from({ length }, (_, i) => {
      const shapes = figures.map(({ x, y, dx, dy, size, ink, round, from }) => {
        const share = eased(Math.min(1, Math.max(0, (i - from) / 12)))
        const way = eased(i / length)
        const side = size * share
        const place = `translate(${x + dx * way} ${y + dy * way}) rotate(${turn * way})`
        return `<rect x="${-side / 2}" y="${-side / 2}" width="${side}" height="${side}" rx="${round ? side / 2 : 6}"
          fill="${ink}" transform="${place}"/>`
      })
      return draw(`<rect width="640" height="360" fill="${paper}"/>${shapes.join('')}`)
    }),
  )
}
