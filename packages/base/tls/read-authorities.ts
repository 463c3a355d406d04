/** Files with the authorities that a server is trusted by. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { SettingsReport } from '../settings/setting.ts'
import { explainUnreadable } from '../storage/file-fault.ts'
import { certificateLabel, pemBlocks } from './pem.ts'

/** @param key The setting that names the file. @returns the file's text */
export function readAuthorities(
  file: string | undefined,
  key: string,
  report: SettingsReport,
): string | undefined {
  if (file === undefined) return undefined
  try {
    const authorities = readFileSync(file, 'utf8')
    if (!holdsCertificates(authorities)) {
      report.problem(key, `the file ${file} holds no certificate in PEM form`)
    }
    return authorities
  } catch (error) {
    report.problem(key, explainUnreadable(file, error))
    return undefined
  }
}

function holdsCertificates(text: string): boolean {
  const blocks = pemBlocks(text, certificateLabel)
  try {
    for (const block of blocks) new X509Certificate(block)
    return blocks.length > 0
  } catch {
    return false
  }
}
