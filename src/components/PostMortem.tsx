import React from 'react';
import { IReport, isRunning } from '../api';
import { useDoctor } from '../context';
import { Culprit } from './Culprit';
import { Evidence } from './Evidence';
import { NotKnown } from './NotKnown';
import { Fix } from './Fix';
import { Headline } from './Headline';
import { WatchInstructions } from './WatchInstructions';
import { LiveKernel } from './LiveKernel';
import { Prose } from './Prose';
import { Section } from './Section';
import { Incidents } from './Incidents';
import { Timeline } from './Timeline';
import { useSignal } from './useSignal';

interface IProps {
  report: IReport;
}

/** Shows one report: what happened, when, where, what to change, and the evidence. */
export function PostMortem({ report }: IProps): JSX.Element {
  const { trans, model, notebooks } = useDoctor();
  useSignal(notebooks.changed);
  const { currentKernel } = notebooks;
  const isIdle =
    currentKernel?.kernel_id === report.kernel_id &&
    currentKernel.status === 'idle';
  const isUnrecorded =
    report.state === 'died' &&
    report.loaded_by === 'magic' &&
    !model.isRecordedAgain(report);
  const hasPlace =
    report.cell !== null ||
    (report.state === 'died' && familyOf(report) !== 'start');
  return (
    <article>
      <Headline report={report} />
      {report.timeline && isAboutMemory(report) && (
        <Timeline timeline={report.timeline} />
      )}
      {report.story && (
        <p className="jp-KernelDoctor-quiet">
          <Prose text={report.story} />
        </p>
      )}
      {report.recurrence && (
        <p className="jp-KernelDoctor-quiet">
          <Prose text={report.recurrence.text} />
        </p>
      )}
      {hasPlace && <Culprit report={report} />}
      {isRunning(report) && !isIdle && (
        <LiveKernel
          target={report}
          about={trans.__('The kernel is running.')}
          above={report.cell}
        />
      )}
      {report.free_first && (
        <p>
          <Prose
            text={trans.__(
              'The kernel has hardly any memory left: free it first: `%1`. What it held is gone then.',
              report.free_first
            )}
          />
        </p>
      )}
      {(report.fixes.length > 0 || report.fixes_left_out) && (
        <Section title={trans.__('What to change')}>
          {report.fixes_left_out}
          {report.fixes.map(fix => (
            <Fix key={fix.id} fix={fix} report={report} />
          ))}
        </Section>
      )}
      <Evidence report={report} />
      <NotKnown report={report} />
      <Incidents report={report} />
      {isUnrecorded && (
        <Section title={trans.__('After the restart')}>
          <div className="jp-KernelDoctor-quiet">
            <WatchInstructions
              intro={trans.__(
                'The restarted kernel is not recorded until you run this again:'
              )}
            />
          </div>
        </Section>
      )}
    </article>
  );
}

/** Whether a picture of the memory says something about this end. */
function isAboutMemory(report: IReport): boolean {
  return ['memory', 'unknown'].includes(familyOf(report) || 'unknown');
}

function familyOf({ causes, cause }: IReport): string | undefined {
  return causes.find(({ id }) => id === cause)?.family;
}
