import manifest from '../package.json' with { type: 'json' }

/** The version of this service. package.json is the only place that states it. */
export const VERSION: string = manifest.version
