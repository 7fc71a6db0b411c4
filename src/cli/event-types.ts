import { InvalidArgumentError } from 'commander'
import { EVENT_TYPES, type EventType } from '../events/catalogue.ts'

export function parseTypes(text: string): EventType[] {
  return text.split(',').map((part) => {
    const type = EVENT_TYPES.find((one) => one === part.trim())
    if (!type) throw new InvalidArgumentError(`"${part}" is not an event type. Use ${EVENT_TYPES.join(', ')}.`)
    return type
  })
}
