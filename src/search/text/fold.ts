export const ASCII = /^[\x00-\x7f]*$/

/** The points of Hebrew and Arabic and the accents of Latin, Greek and Cyrillic; not the voicing marks of kana. */
const ACCENT =
  /[[\p{M}&&[\p{sc=Inherited}\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Hebrew}\p{sc=Arabic}]]--[\u3099\u309a]]/gv

const PLAIN: Record<string, string> = { ß: 'ss', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', æ: 'ae', œ: 'oe', ı: 'i' }

/**
 * Folds case, accents and compatibility forms.
 * Marks of scripts not named in `ACCENT` stay, because they make another letter (か and が) or are vowels.
 */
export function fold(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  const bare = text.normalize('NFKD').replace(ACCENT, '')
  return (ASCII.test(bare) ? bare : bare.normalize('NFC'))
    .toLowerCase()
    .replace(/[ßøłđðþæœı]/g, (letter) => PLAIN[letter] ?? letter)
}
