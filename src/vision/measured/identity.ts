import { basename } from 'node:path'

/** What the measuring annotator is called. Change the version with every change of a model, a threshold or a rule. */
export const MEASURED = { version: 'measured@6', model: 'measured', batchSize: 8 } as const

/** Frames that were read by other models too can be told apart, and described again. */
export function measuredAs(models: readonly string[]) {
  return { ...MEASURED, version: [MEASURED.version, ...models.map(nameOfModel)].join('+') }
}

export const nameOfModel = (file: string): string => basename(file, '.onnx')
