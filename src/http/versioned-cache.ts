import { LRUCache } from 'lru-cache'
import { CompressibleBody } from './compressed-body.ts'
import type { ReadModelVersion } from './read-model-version.ts'

/** A value and the version it is valid for. Without a version it is valid for this request only and may not be kept. */
export interface Versioned<V> {
  value: V
  version: string | undefined
}

export interface VersionedCache<V extends object> {
  /** The version under which values are looked up. */
  version(): string | Promise<string>
  /** The value kept for a key under the current version. Also undefined while the version itself is unknown. */
  peek(key: string): Versioned<V> | undefined
  isKept(key: string, version: string): boolean
  /**
   * The value of a key: from memory, else from `load`, which runs once for all concurrent callers (`shared: false`:
   * once for each). A failed load is not kept. A key belongs to one type of value.
   */
  getOrLoad<T extends V>(
    key: string,
    load: () => Promise<T>,
    options?: { shared?: boolean },
  ): Versioned<T> | Promise<Versioned<T>>
}

/**
 * A bounded cache of values that are valid for one version of the read model. A value loaded while the engine changed
 * is not kept: it may belong to the other engine's version. A value of the first engine stays valid while another
 * engine answers.
 */
export function openVersionedCache<V extends object>({
  readModel,
  maxBytes,
  sizeOf = sizeOfValue,
  keeps = () => true,
}: {
  readModel: ReadModelVersion
  maxBytes: number
  /** In bytes. */
  sizeOf?: (value: V) => number
  /** Whether a loaded value may be kept at all. Absent: every one may. */
  keeps?: (value: V) => boolean
}): VersionedCache<V> {
  // By key alone: the value of a new version replaces the old one.
  const kept = new LRUCache<string, { value: V; version: string }>({
    maxSize: maxBytes,
    sizeCalculation: ({ value }, key) => sizeOf(value) + key.length * 2 + 256,
  })
  const loading = new Map<string, Promise<V>>()

  function find(key: string, version: string | undefined): { value: V; version: string } | undefined {
    const entry = kept.get(key)
    return entry && (entry.version === version || entry.version === readModel.first()) ? entry : undefined
  }

  async function start(key: string, version: string, epoch: number, load: () => Promise<V>): Promise<V> {
    const value = await load()
    if (readModel.epoch() === epoch && keeps(value)) kept.set(key, { value, version })
    return value
  }

  function startOnce(key: string, version: string, epoch: number, load: () => Promise<V>): Promise<V> {
    const name = `${epoch} ${version} ${key}`
    let value = loading.get(name)
    if (!value) {
      value = start(key, version, epoch, load).finally(() => loading.delete(name))
      loading.set(name, value)
    }
    return value
  }

  return {
    version: readModel.current,
    peek(key) {
      const version = readModel.current()
      if (typeof version === 'string') return find(key, version)
      // This caller does not wait for the version. Callers that wait see its error.
      version.catch(() => undefined)
      return find(key, undefined)
    },
    isKept: (key, version) => find(key, version) !== undefined,
    getOrLoad<T extends V>(key: string, load: () => Promise<T>, { shared = true } = {}) {
      const epoch = readModel.epoch()
      const findOrLoad = (version: string): Versioned<T> | Promise<Versioned<T>> => {
        const entry = find(key, version) as Versioned<T> | undefined
        if (entry) return entry
        const loaded = shared ? startOnce(key, version, epoch, load) : start(key, version, epoch, load)
        return loaded.then((value) => ({
          value: value as T,
          version: readModel.epoch() === epoch ? version : undefined,
        }))
      }
      const version = readModel.current()
      return typeof version === 'string' ? findOrLoad(version) : version.then(findOrLoad)
    },
  }
}

/** Of a body twice its length: its compressed forms are kept beside it. Of other values their length as JSON. */
function sizeOfValue(value: object): number {
  const body = 'body' in value ? value.body : value
  return body instanceof CompressibleBody ? body.bytes.length * 2 : JSON.stringify(value).length * 2
}
