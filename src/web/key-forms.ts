import { z } from 'zod'
import { SCOPES } from '../library/accounts/key-checks.ts'
import { field } from './actions.ts'

/** What the forms of `/keys` offer and accept. */

/** In days. */
export const EXPIRIES = [
  [0, 'Never'],
  [7, 'In 7 days'],
  [30, 'In 30 days'],
  [90, 'In 90 days'],
  [365, 'In a year'],
] as const
/** In hours. */
export const GRACES = [
  [0, 'at once'],
  [1, 'in an hour'],
  [24, 'in a day'],
  [168, 'in a week'],
] as const

const oneOf = (values: readonly number[]) =>
  z.coerce.number().refine((value) => values.includes(value), 'Choose one of the list.')

export const CreateForm = z.object({
  name: z.string().trim().min(1, 'Give the key a name.').max(80, 'A name has at most 80 characters.'),
  scope: field.list.pipe(z.array(z.enum(SCOPES)).min(1, 'Choose at least one thing that it may do.')),
  expires: oneOf(EXPIRIES.map(([days]) => days)),
})

export const RotateForm = z.object({ grace: oneOf(GRACES.map(([hours]) => hours)) })
