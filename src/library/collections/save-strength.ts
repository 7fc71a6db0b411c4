/** A save counts half as much as one made this much later. */
export const HALF_LIFE_MS = 30 * 24 * 60 * 60 * 1000

/*
 * A frame's save strength is log2 Σ 2^(save time ÷ half-life). This is forward decay (Cormode, Shkapenyuk, Srivastava
 * and Xu, "Forward decay", ICDE 2009). The order of two frames does not depend on the time of reading. The logarithm
 * keeps 2^700 out of a double. Terms are always scaled by the greatest first.
 */

const HALF_LIFE_SEC = HALF_LIFE_MS / 1000
const term = (time: string) => `(extract(epoch from ${time})::float8 / ${HALF_LIFE_SEC})`

/**
 * SQL text: the strength after one more save, log2(2^strength + 2^(time ÷ half-life)). A null strength is the empty
 * sum. The cut-off keeps power() from raising an underflow error.
 */
export function addSaveSql(strength: string, time: string): string {
  const added = term(time)
  return `case when ${strength} is null then ${added}
    else greatest(${strength}, ${added})
         + ln(1 + power(2::float8, -least(abs(${strength} - ${added}), 1000))) / ln(2::float8) end`
}

/** SQL text of a scalar subquery: the strength of one frame, recomputed from its saves; null without saves. */
export function strengthSql(frameId: string): string {
  return `(select m.greatest
                  + ln(sum(power(2::float8, greatest(${term('s.created_at')} - m.greatest, -1000)))) / ln(2::float8)
    from saves s, (select max(${term('created_at')}) as greatest from saves where frame_id = ${frameId}) m
    where s.frame_id = ${frameId} group by m.greatest)`
}
