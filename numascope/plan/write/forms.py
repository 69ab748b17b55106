"""Every form that a plan can be written in, and a plan turned from one into another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from numascope.plan.dialects.mindspore import MODULES
from numascope.plan.objects import Plan
from numascope.plan.write import batch, launch, mindformers, mindspore, services, variables
from numascope.plan.write.losses import Loss, Losses
from numascope.plan.write.outline import Outline, Places, Setting, outline_of_plan
from numascope.plan.write.reduce import BIND_ONLY, NUMACTLS, Form, reduced

FORMS: Final[Mapping[str, Form]] = {form.name: form for form in (
    Form("mindspore", "MindSpore", mindspore.mindspore_form, MODULES, BIND_ONLY, has_scheduler=True, follows_nodes=True,
         fixes_actors=True, memory_alone=True, has_command=False, settle=mindspore.settle_mindspore),
    Form("numascope", "numascope", mindspore.numascope_form, None, NUMACTLS, has_scheduler=True, follows_nodes=True,
         fixes_actors=True, memory_alone=True, has_command=False),
    Form("msrun", "msrun", launch.msrun_text, (), BIND_ONLY, has_scheduler=True, follows_nodes=True,
         settle=launch.settle_msrun),
    Form("torchrun", "this script", launch.torchrun_text, (), NUMACTLS, follows_nodes=True, memory_alone=True,
         settle=launch.settle_numactl, doubts=launch.numactl_doubts),
    Form("torch_npu", "torch_npu", variables.torch_npu_text, None, has_command=False, settle=variables.settle_torch_npu,
         doubts=variables.torch_npu_doubts),
    Form("mindformers", "MindFormers", mindformers.mindformers_text, MODULES, has_command=False),
    Form("vllm", "vLLM", variables.vllm_text, None, BIND_ONLY, by_position=True, has_command=False,
         settle=variables.settle_vllm),
    Form("rankfile", "mpirun", batch.rankfile_text, (), by_position=True, settle=batch.settle_rankfile,
         doubts=batch.rankfile_doubts),
    Form("slurm", "srun", batch.slurm_text, (), ("bind", "preferred", "local"), follows_nodes=True, by_position=True,
         settle=batch.settle_slurm),
    Form("numactl", "numactl", lambda outline, setting: launch.prefix_text(outline, "numactl", setting), (), NUMACTLS,
         follows_nodes=True, memory_alone=True, settle=launch.settle_numactl, doubts=launch.numactl_doubts),
    Form("taskset", "taskset", lambda outline, setting: launch.prefix_text(outline, "taskset", setting)),
    Form("omp-places", "OpenMP", variables.omp_places_text, settle=variables.settle_omp, doubts=variables.omp_doubts),
    Form("gomp", "libgomp", variables.gomp_text, settle=variables.settle_omp, doubts=variables.gomp_doubts),
    Form("systemd", "systemd", services.systemd_text, (), services.SYSTEMD_POLICIES, memory_alone=True,
         settle=services.settle_systemd),
    Form("docker", "docker", lambda outline, setting: services.container_text(outline, "docker", setting), (), BIND_ONLY,
         doubts=services.container_doubts),
    Form("podman", "podman", lambda outline, setting: services.container_text(outline, "podman", setting), (), BIND_ONLY,
         doubts=services.container_doubts),
    Form("kubernetes", "Kubernetes", services.kubernetes_text, (), BIND_ONLY, doubts=services.kubernetes_doubts),
)}  # fmt: skip
"""Name → form, in the order in which they are told of."""


class Written(NamedTuple):
    """A plan in a form: the text, what it holds of the plan, what of the plan is lost, and what has to be said of the form."""

    text: str
    kept: Outline
    lost: tuple[Loss, ...]
    doubts: tuple[str, ...]


def converted(plan: Plan, form: str, setting: Setting) -> Written:
    """A plan that was read in another form."""
    outline, places = outline_of_plan(plan, setting.machine)
    return written(outline, places, form, setting)


def written(outline: Outline, places: Places, form: str, setting: Setting) -> Written:
    """An outline in a form."""
    chosen, losses = FORMS[form], Losses(places)
    kept = reduced(outline, chosen, setting.machine, losses)
    doubts = () if chosen.doubts is None else tuple(chosen.doubts(kept))
    return Written(chosen.write(kept, setting), kept, tuple(losses.found), doubts)
