/** The form of a judgment, with what the judge will see. */
import { PlainText } from '../../components/plain-text.tsx'
import { objectsOf, textOf } from '../../model/read.ts'
import { TextsInput } from '../inputs.tsx'
import { titleOfStage } from '../stages.ts'
import { F, useForm } from './form.tsx'

export const judgmentFields = ['instructions', 'judgmentInputs', 'requiredJudgmentRoles', 'propagateAuthenticationContext']

export function JudgmentForm() {
  return (
    <>
      <F
        name="instructions"
        label="What to judge"
        placeholder="Open https://test.example.com and check that a purchase works."
        help="What to look at, and what decides. Addresses become links."
      />
      <F
        name="judgmentInputs"
        label="Answers"
        kind="texts"
        help="For more than yes or no: later stages read the chosen one as ${ #judgment('name of this stage') }."
        render={({ tied, value, onChange }) => (
          <TextsInput
            tied={tied}
            choices={[]}
            value={objectsOf(value).flatMap((answer) => textOf(answer['value']) ?? [])}
            onChange={(texts) => onChange((texts as readonly string[] | undefined)?.map((text) => ({ value: text })))}
          />
        )}
      />
      <Preview />
      <F
        name="requiredJudgmentRoles"
        label="Who may judge"
        help="Roles, one of which is needed. Empty: all who may start pipelines of the application."
      />
      <F
        name="propagateAuthenticationContext"
        label="Go on as the judge"
        help="Later stages then have the rights of who judged, such as those for production."
      />
    </>
  )
}

/** Live, and without effect. */
function Preview() {
  const { holder } = useForm()
  const answers = objectsOf(holder['judgmentInputs']).flatMap(({ value }) => textOf(value) ?? [])
  const instructions = textOf(holder['instructions'])
  return (
    <section class="judgment-preview" aria-label="What the judge sees">
      <p class="muted">What the judge sees</p>
      <strong>{titleOfStage(holder)}</strong>
      {instructions === undefined ? <p class="quiet">No instructions.</p> : <PlainText text={instructions} />}
      {answers.map((answer) => (
        <span key={answer} class="check">
          <input type="radio" disabled aria-label={answer} /> {answer}
        </span>
      ))}
      <div class="row" aria-hidden="true">
        <span class="button primary small">Continue</span>
        <span class="button small">Stop</span>
      </div>
    </section>
  )
}
