import { AppError } from '../../errors.ts'
import type { Plan } from '../../vocabulary.ts'
import { type Caller, OPERATOR_SCOPES, type Scope } from './keys.ts'

/** The plan that a scope needs. Operators' scopes depend on the role instead. */
const PLAN_OF: Partial<Record<Scope, Plan>> = {
  'saves:read': 'pro',
  'saves:write': 'pro',
  'boards:read': 'pro',
  'boards:write': 'pro',
}

/**
 * Why this caller may not use an endpoint with this scope: the plan is checked before the scope. Undefined when it may.
 * `everyPlan`: the plan is not checked.
 */
export function refusalOf(
  caller: Caller,
  scope: Scope,
  { everyPlan = false }: { everyPlan?: boolean | undefined } = {},
): AppError | undefined {
  const plan = PLAN_OF[scope]
  if (!everyPlan && plan && caller.account.plan !== plan)
    return new AppError(
      'plan_required',
      `This needs the ${plan} plan; the account is on ${caller.account.plan}. Ask an operator.`,
      {
        details: [{ path: 'plan', message: `must be ${plan}`, allowed: [plan] }],
      },
    )
  const isOperators = (OPERATOR_SCOPES as readonly Scope[]).includes(scope)
  if (!caller.key.scopes.includes(scope) || (isOperators && caller.account.role !== 'operator'))
    return new AppError('forbidden', `This key lacks the scope ${scope}. Use one that has it.`, {
      details: [{ path: 'scope', message: `needs ${scope}`, allowed: [scope] }],
    })
  return undefined
}
