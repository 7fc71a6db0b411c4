import { describe, expect, test } from 'vitest'
import { parseConfig } from '../config.ts'
import { hostToListenOn, isUnknowinglyPublic, localUrl } from './listening.ts'

const hostOf = (env: Record<string, string>) => hostToListenOn(parseConfig(env))

describe('where npm start listens', () => {
  test('on loopback, unless HOST or PUBLIC_URL says otherwise', () => {
    expect(hostOf({})).toBe('127.0.0.1')
    expect(hostOf({ HOST: '' })).toBe('127.0.0.1')
    expect(hostOf({ PUBLIC_URL: 'http://localhost:8080' })).toBe('127.0.0.1')
    expect(hostOf({ PUBLIC_URL: 'http://[::1]:8080' })).toBe('127.0.0.1')
    expect(hostOf({ PUBLIC_URL: 'https://frames.example' })).toBeUndefined()
    // A name that only begins like an address is not this machine's.
    expect(hostOf({ PUBLIC_URL: 'https://127.frames.example' })).toBeUndefined()
    expect(hostOf({ HOST: '127.0.0.1', PUBLIC_URL: 'https://frames.example' })).toBe('127.0.0.1')
    expect(hostOf({ HOST: '0.0.0.0' })).toBe('0.0.0.0')
  })

  test('every interface is warned of, unless HOST or PUBLIC_URL says that it is meant', () => {
    const isPublic = (env: Record<string, string>, container = false) =>
      isUnknowinglyPublic(parseConfig(env), { container })
    expect(isPublic({})).toBe(true)
    expect(isPublic({ PUBLIC_URL: 'http://localhost:8080' })).toBe(true)
    expect(isPublic({ PUBLIC_URL: 'https://frames.example' })).toBe(false)
    for (const HOST of ['0.0.0.0', '::', '127.0.0.1']) expect(isPublic({ HOST })).toBe(false)
    // Compose publishes the port on loopback; the container must listen on all.
    expect(isPublic({}, true)).toBe(false)
  })

  test('a URL for this machine', () => {
    expect(localUrl('127.0.0.1', 3000)).toBe('http://localhost:3000')
    expect(localUrl(undefined, 3000)).toBe('http://localhost:3000')
    expect(localUrl('::', 3000)).toBe('http://localhost:3000')
    expect(localUrl('10.1.2.3', 3000)).toBe('http://10.1.2.3:3000')
    expect(localUrl('fd00::1', 3000)).toBe('http://[fd00::1]:3000')
  })
})
