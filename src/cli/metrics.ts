import type { MetricsConfig } from '../config.ts'
import { portTrouble } from '../local/ports.ts'
import type { Logger } from '../logger.ts'
import { CliError } from './failure.ts'
import { type MetricsServer, serveMetrics } from './metrics-server.ts'

type SettingName = 'METRICS_PORT' | 'WORKER_METRICS_PORT'

/**
 * Serves metrics, unless they are turned off. When the default port is in use by another service, the process continues
 * without metrics.
 * @throws CliError where the chosen port cannot be used.
 */
export async function openMetricsPort(
  { host, port, given }: MetricsConfig,
  { name, text, logger }: { name: SettingName; text: () => Promise<string>; logger: Logger },
): Promise<MetricsServer | undefined> {
  if (port === 0) return undefined
  try {
    return await serveMetrics({ host, port, text })
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (given) throw refusal(name, port, host, code)
    logger.warn({ port, code, setting: name }, 'metrics are not served: their port cannot be used')
    return undefined
  }
}

/** Call it before anything is started. @throws CliError when a chosen port cannot be used. */
export async function refuseMetricsPort({ host, port, given }: MetricsConfig, name: SettingName): Promise<void> {
  const trouble = given && port !== 0 ? await portTrouble(port, host) : undefined
  if (trouble) throw refusal(name, port, host, trouble)
}

function refusal(name: SettingName, port: number, host: string, code: string | undefined): CliError {
  if (code === 'EADDRINUSE')
    return new CliError(
      `${name}: port ${port} is in use. Stop the program that uses it, set ${name} to another port, or to 0 for none.`,
    )
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new CliError(`METRICS_HOST: ${host} is no address of this machine. Set it to one, or leave it unset.`)
  return new CliError(`${name}: port ${port} cannot be used (${code}). Set ${name} to another port, or to 0 for none.`)
}
