import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take longest, longest first. Started last, one of them would keep a single core busy at the end. */
const SLOWEST = [
  'test/faults/worker-killed.test.ts',
  'test/platform/start.test.ts',
  'test/journeys/video.test.ts',
  'test/library/cli.test.ts',
  'test/video/hostile-media.test.ts',
  'test/library/cli-reannotate.test.ts',
  'test/library/vision.test.ts',
  'test/video/extract.test.ts',
  'test/vision/measuring-annotator.test.ts',
]

export default class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = SLOWEST.findIndex((file) => moduleId.endsWith(file))
      return at < 0 ? SLOWEST.length : at
    }
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}
