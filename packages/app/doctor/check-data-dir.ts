/** Checks the data directory: rights of others, free space. */
import { existsSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import {
  type Check,
  createCheck,
  type Finding,
  type Reporter,
} from '@fairlead/base/findings/finding.ts'

const mebibyte = 1024 * 1024
const tightBytes = 1024 * mebibyte
const tooLittleBytes = 64 * mebibyte

/** Whether it can be written is found with what would prevent the next start. */
export function checkDataDir(dataDir: string): Check {
  return createCheck(`Data directory ${dataDir}`, async (report) => {
    const mode = statSync(dataDir, { throwIfNoEntry: false })?.mode
    const room = await checkRoom(mode === undefined ? existingAbove(dataDir) : dataDir, report)
    return mode === undefined ? room : [checkMode(mode, report), ...room]
  })
}

function existingAbove(path: string): string {
  const parent = dirname(path)
  return existsSync(parent) || parent === path ? parent : existingAbove(parent)
}

function checkMode(mode: number, report: Reporter): Finding {
  const tried = 'look at its rights'
  const shown = (mode & 0o777).toString(8)
  if ((mode & 0o077) === 0) return report.ok(tried, `${shown}: only its owner may read it`)
  return report.warning(
    tried,
    `${shown}: others may read or change sessions, passwords and tokens`,
    'chmod 700, or fsGroup in Kubernetes',
  )
}

async function checkRoom(folder: string, report: Reporter): Promise<Finding[]> {
  const tried = 'ask how much room its file system has'
  const { bavail, bsize, ffree, files } = await statfs(folder)
  const freeBytes = bavail * bsize
  const found = `${Math.floor(freeBytes / mebibyte)} MiB are free`
  const advice = 'make room, or put data.dir on another file system'
  const outOfFiles = files > 0 && ffree < 100
  if (freeBytes < tooLittleBytes || outOfFiles) {
    return [
      report.problem(
        tried,
        outOfFiles ? `${found}, and ${ffree} more files can be created` : found,
        advice,
      ),
    ]
  }
  return [freeBytes < tightBytes ? report.warning(tried, found, advice) : report.ok(tried, found)]
}
