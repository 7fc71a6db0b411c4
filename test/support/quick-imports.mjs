import { startQuickly } from '../../src/quick-start.ts'

// For every Node process of the tests. The service calls it by itself.
startQuickly()
