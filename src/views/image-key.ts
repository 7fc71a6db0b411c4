/** The media-store key of a public image name; undefined for any other name. */
export function toImageKey(name: string): string | undefined {
  const match = /^([a-z0-9]{8,32})-([a-z0-9]{1,8})-([0-9a-f]{8})(-480)?\.webp$/.exec(name)
  return match ? `frames/${match[1]}/${match[2]}-${match[3]}${match[4] ?? ''}.webp` : undefined
}
