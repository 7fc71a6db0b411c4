/** Why an attempt failed. The list is closed: metrics and the delivery log name these. */
export const ERRORS = [
  'timeout',
  'refused_address',
  'name_not_found',
  'connection_failed',
  'connection_closed',
  'tls',
  'bad_answer',
  'redirect',
  'status',
  'gone',
] as const
export type DeliveryError = (typeof ERRORS)[number]
