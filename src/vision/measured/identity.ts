/** What the measuring annotator is called. Change the version with every change of a model, a threshold or a rule. */
export const MEASURED = { version: 'measured@2', model: 'measured', batchSize: 8 } as const
