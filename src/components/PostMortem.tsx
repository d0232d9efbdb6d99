import React from 'react';
import { IReport } from '../api';
import { useDoctor } from '../context';
import { Culprit } from './Culprit';
import { Evidence } from './Evidence';
import { Fix } from './Fix';
import { Headline } from './Headline';
import { WatchInstructions } from './WatchInstructions';
import { LiveKernel } from './LiveKernel';
import { Prose } from './Prose';
import { Section } from './Section';
import { Incidents } from './Incidents';
import { Timeline } from './Timeline';

interface IProps {
  report: IReport;
}

/** One report, in the order in which one asks: what, when, where, what now, how do you know. */
export function PostMortem({ report }: IProps): JSX.Element {
  const { trans, model } = useDoctor();
  const watchAgain =
    report.died &&
    report.loaded_by === 'magic' &&
    !model.isRecordedAgain(report);
  const runs = report.end.kind === 'running';
  const somewhere = report.died || (runs && report.cell !== null);
  return (
    <article>
      <Headline report={report} />
      {report.timeline && <Timeline timeline={report.timeline} />}
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
      {somewhere && <Culprit report={report} />}
      {runs && (
        <LiveKernel
          target={report}
          about={trans.__('The kernel is running.')}
          above={report.cell}
        />
      )}
      {report.fixes.length > 0 && (
        <Section title={trans.__('What to change')}>
          {report.fixes.map(fix => (
            <Fix key={fix.id} fix={fix} report={report} />
          ))}
        </Section>
      )}
      <Evidence report={report} />
      <Incidents report={report} />
      {watchAgain && (
        <Section title={trans.__('After the restart')}>
          <div className="jp-KernelDoctor-quiet">
            <WatchInstructions
              intro={trans.__(
                'The restarted kernel is not watched until its notebook runs this again:'
              )}
            />
          </div>
        </Section>
      )}
    </article>
  );
}
