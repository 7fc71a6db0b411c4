import { z } from 'zod'
import { EVENT_TYPES, type SentType, TEST_EVENT } from '../events/catalogue.ts'
import { CloudEvent, currentVersion, exampleOf, schemaOf, schemaPath, versionsOf } from '../events/cloud-event.ts'

/** Everything that may reach a receiver. */
const SENT_TYPES = [...EVENT_TYPES, ...(Object.keys(TEST_EVENT) as SentType[])]

export type EventDocument = ReturnType<typeof describeEvents>

/**
 * The AsyncAPI 3.0 document of the events, from the sender's side. It is made from the schemas that every event is
 * checked against when it is written.
 */
export function describeEvents({ publicUrl, version }: { publicUrl: string; version: string }) {
  const { host, protocol, pathname } = new URL(publicUrl)
  const messages = (types: readonly SentType[]) =>
    Object.fromEntries(types.map((type) => [type, ref('messages', type)]))
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Frame Library events',
      version,
      description:
        'Every change of the library is a CloudEvents 1.0 event, written in the transaction of the change. Events ' +
        'are kept for ever, each has one place in one order, and none is ever edited.',
      license: { name: 'MIT' },
      externalDocs: { description: 'The endpoints', url: `${publicUrl}/openapi.json` },
    },
    defaultContentType: 'application/json',
    servers: {
      library: {
        host,
        protocol: protocol.slice(0, -1),
        ...(pathname === '/' ? {} : { pathname }),
        security: [{ $ref: '#/components/securitySchemes/key' }],
      },
    },
    channels: {
      events: {
        address: '/api/events',
        title: 'The event log',
        description:
          'Needs a key with the scope `events:read`. Pages with `Accept: application/json`; a stream of server-sent ' +
          'events with `Accept: text/event-stream`, whose `id` is a cursor and whose `data` is the event.',
        messages: messages(EVENT_TYPES),
      },
      webhooks: {
        address: null,
        title: 'Your receivers',
        description:
          'An HTTPS POST to each receiver that was registered with `POST /api/webhooks`, signed as Standard Webhooks ' +
          'asks. `webhook-id` is the id of the event, the same for every attempt.',
        messages: messages(SENT_TYPES),
      },
    },
    operations: {
      sendWebhooks: {
        action: 'send',
        channel: { $ref: '#/channels/webhooks' },
        title: 'Send to receivers',
        summary: 'Each event that a receiver asked for, at least once and in no promised order.',
        bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
      },
      sendEvents: {
        action: 'send',
        channel: { $ref: '#/channels/events' },
        title: 'Send the log',
        summary: 'What is there after a position, oldest first, and in a stream each event when it is committed.',
        bindings: { http: { method: 'GET', query: QUERY, bindingVersion: '0.3.0' } },
      },
    },
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'An API key, `flk_live_…`, from the page /keys.' },
      },
      messages: Object.fromEntries(SENT_TYPES.map((type) => [type, messageOf(type, publicUrl)])),
      messageTraits: {
        cloudEvent: {
          contentType: 'application/json',
          externalDocs: { description: 'CloudEvents 1.0', url: 'https://github.com/cloudevents/spec' },
        },
      },
      schemas: {
        CloudEvent: toSchema(CloudEvent.loose()),
        ...Object.fromEntries(SENT_TYPES.map((type) => [type, toSchema(schemaOf(type))])),
      },
    },
  }
}

const QUERY = {
  type: 'object',
  properties: {
    after: { type: 'string', description: 'A cursor, or `end`. `Last-Event-ID` wins over it.' },
    types: { type: 'string', description: 'Comma-separated event types.' },
    limit: { type: 'integer', minimum: 1, maximum: 1_000, description: 'Of pages only.' },
  },
}

function messageOf(type: SentType, publicUrl: string) {
  const version = currentVersion(type)
  return {
    name: type,
    title: type,
    summary: schemaOf(type).description,
    traits: [{ $ref: '#/components/messageTraits/cloudEvent' }],
    payload: {
      allOf: [
        { $ref: '#/components/schemas/CloudEvent' },
        {
          type: 'object',
          properties: {
            type: { const: type },
            dataschema: { const: publicUrl + schemaPath(type, version) },
            version: { const: version },
            data: ref('schemas', type),
          },
        },
      ],
    },
    examples: [{ name: type, payload: exampleOf(type, publicUrl) }],
  }
}

const ref = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` })

/** AsyncAPI's own schemas are JSON Schema draft 7. */
function toSchema(schema: z.ZodType) {
  const { $schema: _, id: __, ...rest } = z.toJSONSchema(schema, { target: 'draft-7' }) as Record<string, unknown>
  return rest
}

/** The JSON schema of a version of a type's data; undefined when there is none. */
export function describeData(type: string, version: string, publicUrl: string): object | undefined {
  const known = SENT_TYPES.find((one) => one === type)
  const found = known && versionsOf(known).find((one) => String(one.version) === version)
  if (!found) return undefined
  const { $schema, ...schema } = z.toJSONSchema(found.schema) as Record<string, unknown>
  return { $schema, $id: publicUrl + schemaPath(type, found.version), title: type, ...schema }
}
