/** Uploads of folders from which images of apps are built. */
import { model, TextList } from '@fairlead/base/json/schemas.ts'
import { z } from 'zod'
import { operationsWith } from '../declare.ts'
import { writesApplication } from '../demands.ts'
import type { Operation } from '../operation.ts'

const SourceFiles = model('AppSourceFiles', {
  files: z
    .array(
      z.strictObject({
        path: z.string().describe('Below the folder, with `/`.'),
        mode: z.int().describe('Rights as a number; whether the owner may execute it is kept.'),
        size: z.int().describe('Bytes.'),
        sha256: z.string().describe('Of the content, in hexadecimal digits.'),
      }),
    )
    .describe('At most 100,000 files and 512 MiB, unless settings say otherwise.'),
  links: z
    .array(z.strictObject({ path: z.string(), target: z.string() }))
    .optional()
    .describe('Symbolic links, which stay in the folder.'),
})

const AppSource = model('AppSource', {
  source: z.string().describe('Id of the folder; equal folders have one id.'),
  complete: z.boolean(),
  missing: TextList.describe('Digests of contents that have to be sent.'),
})

const sources = operationsWith({
  demands: writesApplication,
  answer: AppSource,
  cost: 5,
  missingWhenDisabled: true,
})

export const appSourceOperations: Operation[] = [
  sources.post('createAppSource', '/apps/{application}/sources', 'Upload a list of files', {
    description:
      'Names what a folder consists of, and reports what the server does not have of it. Needs WRITE on the application, or the right ' +
      'to create it. Contents of other applications count as missing.',
    body: {
      schema: z.string().meta({ format: 'binary' }),
      shown: SourceFiles,
      required: true,
      raw: true,
      streams: true,
      mediaType: 'application/json',
    },
    forward: 'igor /apps/{application}/sources',
    errors: {
      400: 'A path or a link leaves the folder.',
      413: 'The folder is larger than `builds.local.source-size`, or has more files than `builds.local.source-files`.',
      429: 'A user may upload 4 folders at a time, and all users 16; `Retry-After` says when to try again.',
    },
  }),
  sources.put('putAppSource', '/apps/{application}/sources/{source}', 'Upload missing files', {
    description:
      'Takes missing contents as a tar archive, compressed with gzip or not. Names of its entries do not matter: contents are recognised ' +
      'by their digests. Several archives may bring them one after the other.',
    body: {
      schema: z.string().meta({ format: 'binary' }),
      required: true,
      raw: true,
      streams: true,
      mediaType: 'application/x-tar',
    },
    forward: 'igor /apps/{application}/sources/{source}',
    errors: {
      400: 'The archive is damaged, or holds something that is not missing.',
      404: 'The application has no such source.',
      413: 'The archive is larger than what is missing.',
      429: 'A user may upload 4 folders at a time, and all users 16; `Retry-After` says when to try again.',
    },
  }),
]
