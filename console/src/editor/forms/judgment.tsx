/** The form of a judgment, with what the judge will see. */
import { PlainText } from '../../components/plain-text.tsx'
import { objectsOf, textOf, textsOf } from '../../model/read.ts'
import { type InputProps, TextsInput } from '../inputs.tsx'
import { titleOfStage } from '../stages.ts'
import { field, useForm } from './form.tsx'

const answersOf = (inputs: unknown) => objectsOf(inputs).flatMap(({ value }) => textOf(value) ?? [])

function Answers({ value, onChange, ...input }: InputProps) {
  const change = (texts: unknown) => onChange(texts === undefined ? undefined : textsOf(texts).map((text) => ({ value: text })))
  return <TextsInput {...input} value={answersOf(value)} onChange={change} />
}

/** Live, and without effect. */
function Preview() {
  const { holder } = useForm()
  const instructions = textOf(holder['instructions'])
  return (
    <section class="judgment-preview" aria-label="What the judge sees">
      <p class="muted">What the judge sees</p>
      <strong>{titleOfStage(holder)}</strong>
      {instructions === undefined ? <p class="quiet">No instructions.</p> : <PlainText text={instructions} />}
      {answersOf(holder['judgmentInputs']).map((answer) => (
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

export const judgmentForm = [
  field('instructions', 'What to judge', 'What to look at, and what decides. Addresses become links.', {
    placeholder: 'Open https://test.example.com and check that a purchase works.',
  }),
  field(
    'judgmentInputs',
    'Answers',
    "For more than yes or no: later stages read the chosen one as ${ #judgment('name of this stage') }.",
    { kind: 'texts', Input: Answers },
  ),
  { View: Preview, shows: [] },
  field(
    'requiredJudgmentRoles',
    'Who may judge',
    'Roles, one of which is needed. Empty: all who may start pipelines of the application.',
  ),
  field(
    'propagateAuthenticationContext',
    'Go on as the judge',
    'Later stages then have the rights of who judged, such as those for production.',
  ),
]
