import { subscribe } from 'node:diagnostics_channel'

// Loaded before the service by `--import`: kills the process when it reaches the step of FAULT_AT (`<step>:<n>`) for
// the n-th time, to try a crash between any two steps.

const [step, passage] = process.env.FAULT_AT?.split(':') ?? []
let passages = 0
subscribe('frames:step', (reached) => {
  if (reached === step && ++passages === Number(passage)) process.kill(process.pid, 'SIGKILL')
})
