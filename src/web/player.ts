/** Players of others that stand in a page of ours, from hosts that set no cookie. They load only after a click. */
const PLAYERS = [
  {
    name: 'YouTube',
    source: /^https:\/\/www\.youtube\.com\/watch\?v=([\w-]{11})$/,
    host: 'https://www.youtube-nocookie.com',
    at: (id: string) => `/embed/${id}?autoplay=1&rel=0&start={second}`,
  },
  {
    name: 'Vimeo',
    source: /^https:\/\/vimeo\.com\/(\d{4,12})$/,
    host: 'https://player.vimeo.com',
    at: (id: string) => `/video/${id}?autoplay=1&dnt=1#t={second}s`,
  },
] as const

/** For the content security policy of the page that shows one. */
export const PLAYER_HOSTS = PLAYERS.map(({ host }) => host)

/** `embed`: its address, with `{second}` in it. `file`: the path of a file of ours, which goes before it. */
export interface Player {
  name?: string
  embed?: string
  file?: string | undefined
}

/** The player of a source. Undefined where none can stand in a page. */
export function playerOf(sourceUrl: string): Player | undefined {
  for (const { name, source, host, at } of PLAYERS) {
    const id = source.exec(sourceUrl)?.[1]
    if (id !== undefined) return { name, embed: host + at(id) }
  }
  return undefined
}
