import { readFile } from 'node:fs/promises'
import { createRequire, registerHooks } from 'node:module'
import path from 'node:path'
import sharp from 'sharp'
import type { Raster } from './picture.ts'

/** A face's box: centre, width and height in shares of the picture. */
export interface Face {
  x: number
  y: number
  width: number
  height: number
  /** 0–1, from the whole picture or from the closer look, whichever is higher. */
  score: number
}

export interface FaceFinding {
  faces: Face[]
  /** The best candidate that a closer look neither confirmed nor ruled out. */
  doubtful: number
  /** Time of the pass over the whole picture, without the closer looks. */
  passMs: number
}

interface Detection {
  score: number
  relativeBox: { x: number; y: number; width: number; height: number }
}

/** From this score on a candidate needs no second look. Drawn puppets score up to 0.89. */
const SURE = 0.9
const CANDIDATE = 0.3
/** The score that a second look, at four times the face's size, must give. */
const CONFIRMED = 0.75
const DOUBTFUL = 0.5
const MAX_CANDIDATES = 8
const MAX_LOOKS = 3

/**
 * SSD MobileNet v1 trained on WIDER FACE, as shipped in @vladmandic/face-api, on the wasm backend of tfjs: about 250 ms
 * per picture on one core. Loads from the package's own files, never from the network. Blocks its thread while it
 * looks, so run it in a worker.
 */
export async function openFaceDetector() {
  const require = createRequire(import.meta.url)
  // The package imports all of tfjs (300 MB) but uses only the core and the wasm backend.
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier === '@tensorflow/tfjs' ? '@tensorflow/tfjs-core' : specifier, context),
  })
  const packageDir = path.dirname(require.resolve('@vladmandic/face-api/package.json'))
  const tf = require('@tensorflow/tfjs-core')
  const wasm = require('@tensorflow/tfjs-backend-wasm')
  const faceApi = require(path.join(packageDir, 'dist/face-api.node-wasm.js'))
  hooks.deregister()
  Object.assign(tf.Tensor.prototype, chainedOps(tf))
  wasm.setThreadsCount(1)
  await tf.setBackend('wasm')
  await tf.ready()
  freeEarly(tf)

  const modelDir = path.join(packageDir, 'model')
  const [manifest] = JSON.parse(
    await readFile(path.join(modelDir, 'ssd_mobilenetv1_model-weights_manifest.json'), 'utf8'),
  )
  const parts: Buffer[] = await Promise.all(manifest.paths.map((file: string) => readFile(path.join(modelDir, file))))
  const bytes = new Uint8Array(Buffer.concat(parts))
  const net = new faceApi.SsdMobilenetv1()
  net.loadFromWeightMap(tf.io.decodeWeights(bytes.buffer, manifest.weights))

  async function detect({ data, width, height }: Raster, minConfidence: number): Promise<Detection[]> {
    const tensor = tf.tensor3d(data, [height, width, 3], 'int32')
    try {
      return await net.locateFaces(tensor, { minConfidence, maxResults: MAX_CANDIDATES })
    } finally {
      tensor.dispose()
    }
  }

  /** The score of the same face in a crop four faces wide. */
  async function lookCloser(raster: Raster, face: Face): Promise<number> {
    const side = 4 * Math.max(face.height * raster.height, face.width * raster.width)
    const left = Math.max(0, Math.round(face.x * raster.width - side / 2))
    const top = Math.max(0, Math.round(face.y * raster.height - side / 2))
    const region = {
      left,
      top,
      width: Math.min(raster.width - left, Math.round(side)),
      height: Math.min(raster.height - top, Math.round(side)),
    }
    if (region.width < 16 || region.height < 16) return 0
    const crop = await resizeRaster(raster, 320, region)
    const scores = (await detect(crop, 0.1)).map((found) => {
      const x = (found.relativeBox.x + found.relativeBox.width / 2) * region.width + left
      const y = (found.relativeBox.y + found.relativeBox.height / 2) * region.height + top
      const near = Math.hypot(x - face.x * raster.width, y - face.y * raster.height) < side * 0.15
      return near ? found.score : 0
    })
    return Math.max(0, ...scores)
  }

  return {
    async find(raster: Raster): Promise<FaceFinding> {
      const start = performance.now()
      const candidates = (await detect(await resizeRaster(raster, 640), CANDIDATE))
        .map(toFace)
        .sort((a, b) => b.score - a.score)
      const passMs = performance.now() - start
      const faces = candidates.filter((face) => face.score >= SURE)
      let doubtful = 0
      let looks = 0
      // A face smaller than a sure one changes neither the shot nor the zone.
      const largest = Math.max(0, ...faces.map(areaOf))
      for (const face of candidates.filter((face) => face.score < SURE && areaOf(face) > largest)) {
        const score = looks++ < MAX_LOOKS ? await lookCloser(raster, face) : 0
        if (score >= CONFIRMED) faces.push({ ...face, score })
        else if (face.score >= DOUBTFUL) doubtful = Math.max(doubtful, face.score)
      }
      return { faces, doubtful, passMs }
    },
  }
}

/** The chained operations that the package expects and the core does not register. */
function chainedOps(tf: { reshape(x: unknown, shape: number[]): unknown; cast(x: unknown, type: string): unknown }) {
  const reshape = function (this: unknown, ...shape: number[]) {
    return tf.reshape(this, shape)
  }
  return {
    as1D(this: { size: number }) {
      return tf.reshape(this, [this.size])
    },
    as2D: reshape,
    as3D: reshape,
    as4D: reshape,
    toFloat(this: unknown) {
      return tf.cast(this, 'float32')
    },
    toInt(this: unknown) {
      return tf.cast(this, 'int32')
    },
  }
}

interface Kernel {
  kernelName: string
  backendName: string
  kernelFunc(params: {
    inputs: { x: { shape: number[]; dataId: object } }
    backend: { disposeData(dataId: object): boolean }
  }): unknown
}

/**
 * The network keeps every layer's output until its end, about 200 MB. The wide layers form a chain in which only the
 * next layer reads an output, so a convolution's input can be freed. The layers that predict read the later outputs
 * (32×32 and smaller) again.
 */
function freeEarly(tf: {
  getKernel(name: string, backend: string): Kernel
  unregisterKernel(name: string, backend: string): void
  registerKernel(kernel: Kernel): void
}) {
  for (const name of ['Conv2D', 'DepthwiseConv2dNative']) {
    const kernel = tf.getKernel(name, 'wasm')
    tf.unregisterKernel(name, 'wasm')
    tf.registerKernel({
      ...kernel,
      kernelFunc(params) {
        const output = kernel.kernelFunc(params)
        const { x } = params.inputs
        if (x.shape[1]! > 32) params.backend.disposeData(x.dataId)
        return output
      },
    })
  }
}

function areaOf(face: Face): number {
  return face.width * face.height
}

function toFace({ score, relativeBox: box }: Detection): Face {
  return { score, x: box.x + box.width / 2, y: box.y + box.height / 2, width: box.width, height: box.height }
}

/** A copy at most `longest` pixels long, of a region if given. RGB. */
export async function resizeRaster(
  raster: Raster,
  longest: number,
  region?: { left: number; top: number; width: number; height: number },
): Promise<Raster> {
  let image = sharp(raster.data, { raw: { width: raster.width, height: raster.height, channels: 3 } })
  if (region) image = image.extract(region)
  const { data, info } = await image
    .resize(longest, longest, { fit: 'inside' })
    .raw()
    .toBuffer({ resolveWithObject: true })
  return { data: new Uint8Array(data), width: info.width, height: info.height }
}
