/* The process that the measuring annotator starts. */
import { answerParent } from '../../processes/child.ts'

answerParent(async () => {
  const { openMeter } = await import('./measure-frame.ts')
  return openMeter(JSON.parse(process.argv[2]!))
})
