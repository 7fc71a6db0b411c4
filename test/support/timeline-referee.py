"""Reads a timeline with opentimelineio and prints its cuts as JSON. Or counts labels."""
import json
import sys

form, text = sys.argv[1], sys.stdin.read()
if form == "timecode":
    from timecode import Timecode

    frames, whole = json.loads(text), sys.argv[3] != "drop"
    print(json.dumps([str(Timecode(sys.argv[2], frames=n + 1, force_non_drop_frame=whole)) for n in frames]))
else:
    import opentimelineio as otio

    def span(of):
        return [of.start_time.value, of.duration.value, of.start_time.rate]

    adapter = {"otio": "otio_json", "xml": "fcp_xml"}[form]
    timeline = otio.adapters.read_from_string(text, adapter)
    track = timeline.video_tracks()[0]
    clips = [each for each in track if isinstance(each, otio.schema.Clip)]
    mixes = [each for each in track if isinstance(each, otio.schema.Transition)]
    print(
        json.dumps(
            {
                "start": timeline.global_start_time and timeline.global_start_time.value,
                "cuts": [[c.name, *span(c.source_range)] for c in clips],
                "mixes": [[m.in_offset.value, m.out_offset.value] for m in mixes],
                "markers": [m.name for c in clips for m in c.markers],
            }
        )
    )
