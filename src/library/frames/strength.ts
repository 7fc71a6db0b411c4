/** A save counts half as much as one made this much later. */
export const HALF_LIFE_MS = 30 * 24 * 60 * 60 * 1000

/*
 * A frame's save strength is log2 Σ 2^(save time ÷ half-life): forward decay (Cormode, Shkapenyuk, Srivastava and Xu, "Forward decay", ICDE 2009), so the order
 * of two frames does not depend on when somebody looks. The logarithm keeps 2^700 out of a double; terms are always scaled by the greatest first.
 */

/** log2(2^strength + 2^(at ÷ half-life)); `null` is the empty sum. */
export function addSave(strength: number | null, at: Date): number {
  const added = at.getTime() / HALF_LIFE_MS
  if (strength === null) return added
  return Math.max(strength, added) + Math.log2(1 + 2 ** -Math.abs(strength - added))
}

/** The whole sum anew, in any order; null without saves. */
export function strengthOf(times: readonly Date[]): number | null {
  if (times.length === 0) return null
  const terms = times.map((time) => time.getTime() / HALF_LIFE_MS)
  const greatest = terms.reduce((a, b) => Math.max(a, b))
  return greatest + Math.log2(terms.reduce((sum, term) => sum + 2 ** (term - greatest), 0))
}

const HALF_LIFE_SEC = HALF_LIFE_MS / 1000
const term = (time: string) => `(extract(epoch from ${time})::float8 / ${HALF_LIFE_SEC})`

/** `addSave` as SQL text, of column names and functions. The cut-off keeps power() from raising its underflow error. */
export function addSaveSql(strength: string, time: string): string {
  const added = term(time)
  return `case when ${strength} is null then ${added}
    else greatest(${strength}, ${added}) + ln(1 + power(2::float8, -least(abs(${strength} - ${added}), 1000))) / ln(2::float8) end`
}

/** `strengthOf` over the saves of one frame, as the SQL text of a scalar subquery. */
export function strengthSql(frameId: string): string {
  return `(select m.greatest + ln(sum(power(2::float8, greatest(${term('s.created_at')} - m.greatest, -1000)))) / ln(2::float8)
    from saves s, (select max(${term('created_at')}) as greatest from saves where frame_id = ${frameId}) m
    where s.frame_id = ${frameId} group by m.greatest)`
}
