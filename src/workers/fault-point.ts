/** Named steps at which a test may kill the process (`FAULT_AT`), to try a crash between any two of them. */
export const STEPS = [
  'ingest-begun',
  'ingest-fetched',
  'ingest-extracted',
  'ingest-images-stored',
  'ingest-recorded',
  'annotate-begun',
  'annotate-answered',
  'annotate-recorded',
  'dispatch-added',
  'projection-applied',
  'analytics-counted',
] as const
/** The steps of backups and restores: once for each table and each folder of images. */
type CopyStep = 'backup-tables' | 'backup-images' | 'restore-images' | 'restore-tables'
type WebhookStep = 'webhook-written' | 'webhook-sent' | 'webhook-recorded'
type Step = (typeof STEPS)[number] | CopyStep | WebhookStep

export type FaultPoint = (step: Step) => void

/** With a fault set: kills this process (SIGKILL) at the n-th passage of that step. Otherwise does nothing. */
export function openFaultPoint(fault: { step: string; passage: number } | undefined): FaultPoint {
  if (!fault) return () => undefined
  let passages = 0
  return (step) => {
    if (step === fault.step && ++passages === fault.passage) process.kill(process.pid, 'SIGKILL')
  }
}
