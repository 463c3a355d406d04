/** Thread that reads large YAML bodies, and writes large YAML. */
import { serveJobs } from '../../concurrency/side-thread.ts'
import { formatJson, parseJson, UnsafeJsonError } from '../json.ts'
import { formatYaml, parseYaml } from '../yaml.ts'

/** YAML that becomes JSON, or the other way around. */
export type YamlJob =
  | { readonly kind: 'read'; readonly yaml: string; readonly maxValues: number }
  | { readonly kind: 'write'; readonly json: string }

/** `problem` may reach the client; `code` where the document is well-formed and not allowed. */
export type YamlReply =
  | { readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly problem: string; readonly code: UnsafeJsonError['code'] | undefined }

serveJobs((job: YamlJob): { reply: YamlReply; transfer: ArrayBuffer[] } => {
  try {
    const bytes = new TextEncoder().encode(convert(job))
    return { reply: { bytes }, transfer: [bytes.buffer] }
  } catch (error) {
    const code = error instanceof UnsafeJsonError ? error.code : undefined
    return { reply: { problem: (error as Error).message, code }, transfer: [] }
  }
})

function convert(job: YamlJob): string {
  if (job.kind === 'write') return formatYaml(parseJson(job.json))
  return formatJson(parseYaml(job.yaml, { maxValues: job.maxValues, version: '1.1' }))
}
