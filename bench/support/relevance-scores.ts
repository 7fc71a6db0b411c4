/** 1 where the wanted documents come first, the best graded before the others. */
export function ndcgAt(depth: number, ids: readonly string[], wanted: ReadonlyMap<string, number>): number {
  const gain = (grade: number, place: number) => (2 ** grade - 1) / Math.log2(place + 2)
  const ideal = [...wanted.values()]
    .sort((a, b) => b - a)
    .slice(0, depth)
    .reduce((sum, grade, place) => sum + gain(grade, place), 0)
  return ids.slice(0, depth).reduce((sum, id, place) => sum + gain(wanted.get(id) ?? 0, place), 0) / ideal
}
