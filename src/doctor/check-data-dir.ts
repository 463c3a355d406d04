/** Checks the data directory: permissions, write access, free space. */
import { constants } from 'node:fs'
import { access, mkdtemp, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Check, createCheck, type Finding, type Reporter } from '../findings/finding.ts'

const mebibyte = 1024 * 1024
const tightBytes = 1024 * mebibyte
const tooLittleBytes = 64 * mebibyte

export function checkDataDir(dataDir: string): Check {
  return createCheck(`Data directory ${dataDir}`, (report) => judge(dataDir, report))
}

async function judge(dataDir: string, report: Reporter): Promise<Finding[]> {
  const known = await stat(dataDir).catch((error: NodeJS.ErrnoException) => error)
  if (known instanceof Error) {
    if (known.code !== 'ENOENT')
      return [report.problem('look at it', known.message, 'give this user access to it, or set data.dir')]
    return [await judgeParent(dataDir, report), ...(await judgeRoom(await existingAbove(dataDir), report))]
  }
  if (!known.isDirectory()) return [report.problem('look at it', 'it is no directory', 'remove the file, or set data.dir')]
  return [judgeMode(known.mode, report), await judgeWriting(dataDir, report), ...(await judgeRoom(dataDir, report))]
}

async function judgeParent(dataDir: string, report: Reporter): Promise<Finding> {
  const parent = await existingAbove(dataDir)
  const tried = `look at ${parent}, below which the first start creates it`
  try {
    await access(parent, constants.W_OK | constants.X_OK)
    return report.ok(tried, 'this user may write there')
  } catch {
    return report.problem(
      tried,
      'this user may not write there',
      'give this user write access, or set data.dir or FAIRLEAD_DATA_DIR',
    )
  }
}

async function existingAbove(path: string): Promise<string> {
  const parent = dirname(path)
  const exists = await stat(parent).then(
    () => true,
    () => false,
  )
  return exists || parent === path ? parent : existingAbove(parent)
}

function judgeMode(mode: number, report: Reporter): Finding {
  const tried = 'look at its rights'
  const shown = (mode & 0o777).toString(8)
  if ((mode & 0o077) === 0) return report.ok(tried, `${shown}: only its owner may read it`)
  return report.warning(
    tried,
    `${shown}: others may read or change sessions, passwords and tokens`,
    'chmod 700, or fsGroup in Kubernetes',
  )
}

async function judgeWriting(dataDir: string, report: Reporter): Promise<Finding> {
  const tried = 'write a file there'
  try {
    const folder = await mkdtemp(join(dataDir, 'doctor-'))
    try {
      await writeFile(join(folder, 'probe'), 'x')
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
    return report.ok(tried, 'written and removed again')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return report.problem(tried, code ?? message, 'give the user of the gateway write access, or make room')
  }
}

async function judgeRoom(folder: string, report: Reporter): Promise<Finding[]> {
  const tried = 'ask how much room its file system has'
  const { bavail, bsize, ffree, files } = await statfs(folder)
  const freeBytes = bavail * bsize
  const found = `${Math.floor(freeBytes / mebibyte)} MiB are free`
  const advice = 'make room, or put data.dir on another file system'
  const outOfFiles = files > 0 && ffree < 100
  if (freeBytes < tooLittleBytes || outOfFiles) {
    return [report.problem(tried, outOfFiles ? `${found}, and ${ffree} more files can be created` : found, advice)]
  }
  return [freeBytes < tightBytes ? report.warning(tried, found, advice) : report.ok(tried, found)]
}
