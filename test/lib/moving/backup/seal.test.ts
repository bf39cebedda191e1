import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { hasValidSeal } from '../../../../lib/moving/backup/seal.ts'
import { streamPacked, unpackedBackup, writeWholeFile } from '../../../../lib/moving/backup/whole-file.ts'
import { runs } from '../../../torture/orders.ts'

async function* of(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks
}

async function packed(chunks: readonly Buffer[]): Promise<Buffer> {
  const parts: Buffer[] = []
  await streamPacked(of(chunks), async chunk => {
    parts.push(Buffer.from(chunk))
  })
  return Buffer.concat(parts)
}

t.test('a sealed file is a Brotli stream with the same contents', async t => {
  const file = join(t.testdir(), 'file')
  const chunk = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 2000 }).map(bytes => Buffer.from(bytes)),
    fc.integer({ min: 1, max: 900_000 }).map(length => randomBytes(length)),
    fc.integer({ min: 1, max: 900_000 }).map(length => Buffer.alloc(length, 'abc'))
  )
  const property = fc.asyncProperty(fc.array(chunk, { minLength: 1, maxLength: 6 }), async chunks => {
    const whole = Buffer.concat(chunks)
    const bytes = await packed(chunks)
    await writeFile(file, bytes)
    t.ok(brotliDecompressSync(bytes).equals(whole))
    const unpacked: Uint8Array[] = []
    for await (const part of unpackedBackup(of([bytes]))) unpacked.push(part)
    t.ok(Buffer.concat(unpacked).equals(whole))
    t.equal(await hasValidSeal(file, () => {}), true)
  })
  await fc.assert(property, runs(30))
})

t.test('a file that was changed or cut off has no valid seal', async t => {
  const file = join(t.testdir(), 'file')
  const chunks = [randomBytes(3000), Buffer.alloc(5000, 'text'), randomBytes(10)]
  await writeWholeFile(file, of(chunks))
  const bytes = await readFile(file)
  let read = 0
  t.equal(
    await hasValidSeal(file, at => {
      read = at
    }),
    true
  )
  t.equal(read, bytes.length - 47, 'everything but the seal is hashed')
  const check = async (changed: Buffer) => {
    await writeFile(file, changed)
    return hasValidSeal(file, () => {})
  }
  for (let at = 0; at < bytes.length; at += at < bytes.length - 60 ? 50 : 1) {
    const changed = Buffer.from(bytes)
    changed[at]! ^= 0x10
    t.equal(await check(changed), false, `byte ${at}`)
    t.equal(await check(bytes.subarray(0, at)), false, `the first ${at} bytes`)
  }
  t.equal(await check(Buffer.concat([bytes, Buffer.from([3])])), false)
})

t.test('a file that does not exist or is a folder has no seal', async t => {
  t.equal(await hasValidSeal(join(t.testdir(), 'none'), () => {}), false)
  t.equal(await hasValidSeal(t.testdir(), () => {}), false)
})
