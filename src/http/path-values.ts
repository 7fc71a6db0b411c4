const text = (description: string, pattern: RegExp) => ({
  description,
  schema: { type: 'string' as const, pattern: pattern.source },
})

/** The values in paths, by their names there. Another value is 404. */
export const PATH_VALUES: Readonly<Record<string, ReturnType<typeof text>>> = {
  id: text('Its id.', /^[0-9A-Za-z-]{1,64}$/),
  frameId: text('The id of a frame.', /^[0-9A-Za-z-]{1,64}$/),
  eventId: text('The id of an event.', /^[0-9a-f-]{36}$/),
  slug: text('The slug of a technique.', /^[a-z0-9]+(-[a-z0-9]+)*$/),
  token: text('The token at the end of a share link.', /^[0-9A-Za-z_]{1,200}$/),
  consumer: text('The name of a consumer of the event log.', /^[a-z][ -~]{0,199}$/),
  type: text('The type of an event.', /^[a-z_]+\.[a-z_]+$/),
  version: text('The version of its data.', /^[1-9][0-9]*$/),
  format: text('The form of the file: otio, xml, fcpxml or csv.', /^(otio|xml|fcpxml|csv)$/),
  name: text('The name of an image, from `image_url` or `thumb_url`.', /^[0-9a-z-]{1,60}\.webp$/),
}
