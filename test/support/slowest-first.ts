import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that take longest, longest first, in each project. Started last, one of them would keep a single core busy
 * at the end. Files of a project stay together, so that a worker keeps what it has loaded.
 */
const SLOWEST = [
  'test/faults/worker-killed.test.ts',
  'test/platform/start.test.ts',
  'test/journeys/wall.test.ts',
  'test/journeys/every-reader.test.ts',
  'test/webhooks/killed.test.ts',
  'test/video/hostile-media.test.ts',
  'test/library/vision.test.ts',
  'test/video/extract.test.ts',
  'test/vision/measuring-annotator.test.ts',
]

const PROJECTS = ['process', 'media', 'stores', 'unit']

export default class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = SLOWEST.findIndex((file) => moduleId.endsWith(file))
      return at < 0 ? SLOWEST.length : at
    }
    const projectRank = ({ project }: TestSpecification) => PROJECTS.indexOf(project.name)
    return (await super.sort(files)).sort((a, b) => projectRank(a) - projectRank(b) || rank(a) - rank(b))
  }
}
