/** What the measuring annotator is called. Change the version with every change of a model, a threshold or a rule. */
export const MEASURED = { version: 'measured@2', model: 'measured', batchSize: 8 } as const

/** Frames that were read in other languages can be told apart, and described again. */
export function measuredAs(languages: readonly string[]) {
  const isDefault = languages.length === 1 && languages[0] === 'eng'
  return { ...MEASURED, version: isDefault ? MEASURED.version : `${MEASURED.version}+${languages.join('+')}` }
}

/** The languages that text is read in, as tesseract names them. */
export interface ReadingLanguages {
  codes: readonly string[]
  /** Holds `<code>.traineddata` of each. Without it English alone is read, with the data of its npm package. */
  dataDir?: string
}

export const ENGLISH: ReadingLanguages = { codes: ['eng'] }
