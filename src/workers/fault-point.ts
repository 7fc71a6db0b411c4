import { channel } from 'node:diagnostics_channel'

/** Named steps of the work. A test may kill the process at each, to try a crash between any two of them. */
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
/** The steps of backups and restores: once for each table and each image. */
type CopyStep = 'backup-tables' | 'backup-images' | 'restore-images' | 'restore-tables'
type WebhookStep = 'webhook-sent' | 'webhook-recorded'
type Step = (typeof STEPS)[number] | CopyStep | WebhookStep

export type FaultPoint = (step: Step) => void

const steps = channel('frames:step')

/** Tells the step to what listens to `frames:step` in this process. Nothing does but the process of a test. */
export const tellStep: FaultPoint = (step) => steps.publish(step)
