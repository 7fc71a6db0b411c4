import { LRUCache } from 'lru-cache'
import type { ReadModelVersion } from './read-model-version.ts'

/** A value and the version it holds for; without a version it holds for this one request and may not be kept. */
export interface Versioned<V> {
  value: V
  version: string | undefined
}

export interface VersionedCache<V extends object> {
  /** The version under which values are looked up now. */
  version(): string | Promise<string>
  /** The value kept for a key under the current version. Undefined also while the version itself is not at hand. */
  peek(key: string): Versioned<V> | undefined
  /**
   * The value of a key: at once where it is kept, else from `load`, which runs once for all who wait for the key
   * (`shared: false`: once for each caller). A failed load is kept by no one.
   */
  getOrLoad(key: string, load: () => Promise<V>, options?: { shared?: boolean }): Versioned<V> | Promise<Versioned<V>>
}

/**
 * A bounded cache of values that hold for one version of the read model. A value loaded while the engine changed is
 * not kept: it may belong to the other engine's version.
 */
export function openVersionedCache<V extends object>({
  readModel,
  maxBytes,
  sizeOf,
  keeps = () => true,
}: {
  readModel: ReadModelVersion
  maxBytes: number
  sizeOf: (value: V) => number
  /** Whether a loaded value may be kept at all. Absent: every one may. */
  keeps?: (value: V) => boolean
}): VersionedCache<V> {
  const values = new LRUCache<string, V>({
    maxSize: maxBytes,
    sizeCalculation: (value, name) => sizeOf(value) + name.length * 2 + 256,
  })
  const loading = new Map<string, Promise<V>>()

  function start(name: string, epoch: number, load: () => Promise<V>): Promise<V> {
    return load().then((value) => {
      if (readModel.epoch() === epoch && keeps(value)) values.set(name, value)
      return value
    })
  }

  function startOnce(name: string, epoch: number, load: () => Promise<V>): Promise<V> {
    const running = `${epoch} ${name}`
    let value = loading.get(running)
    if (!value) {
      value = start(name, epoch, load).finally(() => loading.delete(running))
      loading.set(running, value)
    }
    return value
  }

  return {
    version: readModel.current,
    peek(key) {
      const version = readModel.current()
      if (typeof version !== 'string') {
        // This caller does not wait for the version. Those who do see its error.
        version.catch(() => undefined)
        return undefined
      }
      const value = values.get(`${version} ${key}`)
      return value && { value, version }
    },
    getOrLoad(key, load, { shared = true } = {}) {
      const epoch = readModel.epoch()
      const find = (version: string): Versioned<V> | Promise<Versioned<V>> => {
        const name = `${version} ${key}`
        const kept = values.get(name)
        if (kept) return { value: kept, version }
        const loaded = shared ? startOnce(name, epoch, load) : start(name, epoch, load)
        return loaded.then((value) => ({ value, version: readModel.epoch() === epoch ? version : undefined }))
      }
      const version = readModel.current()
      return typeof version === 'string' ? find(version) : version.then(find)
    },
  }
}
