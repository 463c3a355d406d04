/** Forms of stages that run a command: on this machine, as a job, or with a build server. */
import { textOf, textsOf } from '../../model/read.ts'
import { type InputProps, TextInput } from '../inputs.tsx'
import { F, Fold, useForm, Ways } from './form.tsx'

export const commandFields = ['credentials', 'regions', 'command', 'env', 'waitForCompletion', 'propertyFile', 'cloudProvider']
export const jobFields = [...commandFields, 'imageId', 'application']
export const scriptFields = ['command', 'repoUrl', 'repoBranch', 'scriptPath', 'waitForCompletion', 'propertyFile', 'job']

export function CommandForm() {
  return (
    <>
      <CommandFields required />
      <Results />
      <Fold title="Where it runs">
        <Place />
      </Fold>
    </>
  )
}

export function JobForm() {
  return (
    <>
      <Place />
      <F name="imageId" label="Image" help="Without one, the command runs on the machine itself." />
      <CommandFields required={false} />
      <Results />
    </>
  )
}

/** Of stages that a build server runs. */
export function ScriptForm() {
  return (
    <>
      <F name="command" label="Command" isCode placeholder="make release" help="The job gets it as COMMAND." />
      <F name="repoUrl" label="Repository" placeholder="https://git.example.com/shop/web.git" help="Where the command runs." />
      <div class="form-row">
        <F name="repoBranch" label="Branch" help="" />
        <F name="scriptPath" label="Folder in it" help="" />
      </div>
      <F name="job" label="Job" help="Unless given, the one that the configuration names." />
      <Results />
    </>
  )
}

function Place() {
  return (
    <div class="form-row">
      <F name="credentials" label="Account" help="Its user runs it." />
      <F name="regions" label="Region" help="" />
    </div>
  )
}

/** A text is for the shell; a list is a program with its arguments. */
function CommandFields({ required }: { required: boolean }) {
  const { get, set } = useForm()
  const command = get('command')
  const isList = Array.isArray(command)
  const choose = (way: 'shell' | 'program') => {
    const words = textOf(command)?.split(/\s+/) ?? []
    set('command', way === 'program' ? words : textsOf(command).map(quote).join(' ') || undefined)
  }
  return (
    <>
      <Ways
        label="Run"
        ways={[
          { id: 'shell', label: 'A command line', help: 'With pipes, && and variables, as in a terminal.' },
          { id: 'program', label: 'A program', help: 'Each argument on its own line, unchanged.' },
        ]}
        chosen={isList ? 'program' : 'shell'}
        onChoose={choose}
      />
      <F
        name="command"
        label={isList ? 'Program and arguments' : 'Command'}
        kind="text"
        required={required}
        help={isList ? 'One per line.' : 'Run by sh -c. The stage fails unless it ends with 0.'}
        render={(input) => (isList ? <Arguments {...input} /> : <Line {...input} />)}
      />
      <F name="env" label="Environment" help="Variables of the command. Secrets belong in the configuration." />
    </>
  )
}

function Line(input: InputProps) {
  return (
    <TextInput {...input} isCode isLong={(textOf(input.value) ?? '').includes('\n')} placeholder="npm test && npm run report" />
  )
}

function Arguments({ tied, value, onChange }: InputProps) {
  const change = (text: unknown) => onChange((textOf(text) ?? '').split('\n'))
  return (
    <TextInput tied={tied} value={textsOf(value).join('\n')} onChange={change} isCode isLong placeholder={'node\nserver.mjs'} />
  )
}

function quote(word: string): string {
  return /^[\w./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

function Results() {
  return (
    <Fold title="Wait for its end, and outputs">
      <F name="waitForCompletion" label="Wait for its end" help="Otherwise the stage ends at once, and a failure is not seen." />
      <F
        name="propertyFile"
        label="File with outputs"
        placeholder="result.properties"
        help="Its lines name=value become outputs."
      />
    </Fold>
  )
}
