/** Findings of the doctor about an installation. */
import { z } from 'zod'

const Verdict = z.enum(['ok', 'warning', 'problem'])

export const ExaminationModel = z
  .object({
    verdict: Verdict.describe('The worst of all findings.'),
    publicUrl: z
      .string()
      .describe(
        'The address of the gateway as browsers see it, as far as the configuration tells.',
      ),
    addresses: z
      .array(
        z.object({
          login: z.string(),
          what: z.string(),
          url: z.string(),
          needed: z.boolean().describe('False: answered as well, as by every version of Gate.'),
        }),
      )
      .readonly()
      .describe('To be registered at the identity provider.'),
    findings: z
      .array(
        z.object({
          subject: z.string().describe('What was looked at.'),
          verdict: Verdict,
          tried: z.string(),
          found: z.string(),
          advice: z.string().optional().describe('What to do; absent when there is nothing to do.'),
          guide: z.string().optional().describe('Path of the guide in the documentation.'),
        }),
      )
      .readonly(),
  })
  .meta({ id: 'Examination' })
export type ExaminationModel = z.infer<typeof ExaminationModel>
