"""Indices, each by its own function of its data.

The data are ``(samples, som)``, ``(samples, projection)`` of a map or an embedding,
``(samples, clusters)``, ``(labels, clusters)`` or ``(labels, units, grid)``.
"""

from __future__ import annotations

from somscale.metrics.clusters.dunn import dunn_index, generalized_dunn_index
from somscale.metrics.clusters.fields import (
    centroid_distances,
    centroids,
    cluster_dispersion,
    cluster_radius,
    cluster_sizes,
    cluster_within_scatter,
)
from somscale.metrics.clusters.pairs import (
    cluster_diameter,
    cluster_distances,
    cluster_mean_distance,
    cluster_separation,
)
from somscale.metrics.clusters.scatter import (
    between_scatter,
    calinski_harabasz_score,
    davies_bouldin_index,
    davies_bouldin_score,
    r_squared,
    within_scatter,
    xie_beni_index,
)
from somscale.metrics.clusters.silhouettes import (
    centroid_silhouette,
    cluster_silhouette,
    sample_silhouette,
    silhouette_score,
    squared_silhouette,
)
from somscale.metrics.comparison.aligned import aligned_code_distance
from somscale.metrics.comparison.map_distance import map_distance
from somscale.metrics.maps.combined import combined_error, unit_combined_error
from somscale.metrics.maps.conn_index import conn_index, unit_intra_connectivity
from somscale.metrics.maps.density import p_matrix, u_star_matrix
from somscale.metrics.maps.distortion import distortion, distortion_parts, unit_distortion
from somscale.metrics.maps.embedding import (
    feature_embedding_p_value,
    feature_ks_distance,
    feature_mean_difference,
    feature_variance_ratio,
    map_embedding_accuracy,
)
from somscale.metrics.maps.fields import (
    codes,
    composite,
    features_dropped,
    frequency,
    rms_per_feature,
    samples_dropped,
)
from somscale.metrics.maps.intruders import unit_zrehen_measure, zrehen_measure
from somscale.metrics.maps.products import topographic_product, unit_topographic_product
from somscale.metrics.maps.quantization import (
    dead_units,
    explained_variance,
    hits,
    quantization_error,
    unit_quantization_error,
)
from somscale.metrics.maps.sample_values import bmu, distance, second_bmu
from somscale.metrics.maps.silhouette import (
    sample_simplified_silhouette,
    simplified_silhouette,
    unit_simplified_silhouette,
)
from somscale.metrics.maps.spacing import codebook_davies_bouldin, map_distance_correlation
from somscale.metrics.maps.structure import hit_entropy, u_matrix
from somscale.metrics.maps.topographic import topographic_error, unit_topographic_error
from somscale.metrics.maps.topographic_functions import (
    differential_topographic_function,
    topographic_function,
    weighted_differential_topographic_function,
)
from somscale.metrics.maps.unit_labels import (
    class_scatter_index,
    label_distribution,
    unit_entropy,
    unit_label_entropy,
)
from somscale.metrics.maps.villmann import villmann_function
from somscale.metrics.partitions.bcubed import bcubed_f_score, bcubed_precision, bcubed_recall
from somscale.metrics.partitions.information_scores import (
    adjusted_mutual_info_score,
    completeness_score,
    homogeneity_score,
    mutual_info_score,
    normalized_mutual_info_score,
    v_measure_score,
    variation_of_information,
)
from somscale.metrics.partitions.majority import entropy_sum, nmco
from somscale.metrics.partitions.matching import clustering_accuracy, purity, split_join_distance
from somscale.metrics.partitions.pair_counting import (
    adjusted_rand_score,
    fowlkes_mallows_score,
    pair_counts,
    pair_jaccard_score,
    rand_score,
)
from somscale.metrics.partitions.pair_scores import (
    hubert_gamma,
    mirkin_metric,
    normalized_mirkin_metric,
    pair_f_score,
    pair_precision,
    pair_recall,
    wallace_clusters_to_labels,
    wallace_labels_to_clusters,
)
from somscale.metrics.projections.distance_agreement import (
    c_measure,
    kruskal_shepard_error,
    shepard_correlation,
)
from somscale.metrics.projections.shepard import shepard_diagram, shepard_rank_correlation
from somscale.metrics.projections.stress import metric_stress, sammon_stress
from somscale.metrics.ranks.curves import (
    b_nx,
    lcmc,
    neighborhood_hit,
    neighborhood_jaccard,
    q_nx,
    r_nx,
    u_n,
    u_x,
)
from somscale.metrics.ranks.errors import mrre_extrusion, mrre_intrusion
from somscale.metrics.ranks.pointwise import (
    pointwise_rank_quality,
    sample_continuity,
    sample_q_nx,
    sample_trustworthiness,
)
from somscale.metrics.ranks.quality import coranking_matrix, rank_quality, rank_regions
from somscale.metrics.ranks.scalars import auc_r_nx, k_max, mean_r_nx, q_global, q_local
from somscale.metrics.ranks.trust import (
    continuity,
    neighborhood_preservation,
    trustworthiness,
)
from somscale.metrics.ranks.units import (
    unit_continuity,
    unit_q_nx,
    unit_rank_quality,
    unit_trustworthiness,
)

__all__ = [
    "adjusted_mutual_info_score",
    "adjusted_rand_score",
    "aligned_code_distance",
    "auc_r_nx",
    "b_nx",
    "bcubed_f_score",
    "bcubed_precision",
    "bcubed_recall",
    "between_scatter",
    "bmu",
    "c_measure",
    "calinski_harabasz_score",
    "centroid_distances",
    "centroid_silhouette",
    "centroids",
    "class_scatter_index",
    "cluster_diameter",
    "cluster_dispersion",
    "cluster_distances",
    "cluster_mean_distance",
    "cluster_radius",
    "cluster_separation",
    "cluster_silhouette",
    "cluster_sizes",
    "cluster_within_scatter",
    "clustering_accuracy",
    "codebook_davies_bouldin",
    "codes",
    "combined_error",
    "completeness_score",
    "composite",
    "conn_index",
    "continuity",
    "coranking_matrix",
    "davies_bouldin_index",
    "davies_bouldin_score",
    "dead_units",
    "differential_topographic_function",
    "distance",
    "distortion",
    "distortion_parts",
    "dunn_index",
    "entropy_sum",
    "explained_variance",
    "feature_embedding_p_value",
    "feature_ks_distance",
    "feature_mean_difference",
    "feature_variance_ratio",
    "features_dropped",
    "fowlkes_mallows_score",
    "frequency",
    "generalized_dunn_index",
    "hit_entropy",
    "hits",
    "homogeneity_score",
    "hubert_gamma",
    "k_max",
    "kruskal_shepard_error",
    "label_distribution",
    "lcmc",
    "map_distance",
    "map_distance_correlation",
    "map_embedding_accuracy",
    "mean_r_nx",
    "metric_stress",
    "mirkin_metric",
    "mrre_extrusion",
    "mrre_intrusion",
    "mutual_info_score",
    "neighborhood_hit",
    "neighborhood_jaccard",
    "neighborhood_preservation",
    "nmco",
    "normalized_mirkin_metric",
    "normalized_mutual_info_score",
    "p_matrix",
    "pair_counts",
    "pair_f_score",
    "pair_jaccard_score",
    "pair_precision",
    "pair_recall",
    "pointwise_rank_quality",
    "purity",
    "q_global",
    "q_local",
    "q_nx",
    "quantization_error",
    "r_nx",
    "r_squared",
    "rand_score",
    "rank_quality",
    "rank_regions",
    "rms_per_feature",
    "sammon_stress",
    "sample_continuity",
    "sample_q_nx",
    "sample_silhouette",
    "sample_simplified_silhouette",
    "sample_trustworthiness",
    "samples_dropped",
    "second_bmu",
    "shepard_correlation",
    "shepard_diagram",
    "shepard_rank_correlation",
    "silhouette_score",
    "simplified_silhouette",
    "split_join_distance",
    "squared_silhouette",
    "topographic_error",
    "topographic_function",
    "topographic_product",
    "trustworthiness",
    "u_matrix",
    "u_n",
    "u_star_matrix",
    "u_x",
    "unit_combined_error",
    "unit_continuity",
    "unit_distortion",
    "unit_entropy",
    "unit_intra_connectivity",
    "unit_label_entropy",
    "unit_q_nx",
    "unit_quantization_error",
    "unit_rank_quality",
    "unit_simplified_silhouette",
    "unit_topographic_error",
    "unit_topographic_product",
    "unit_trustworthiness",
    "unit_zrehen_measure",
    "v_measure_score",
    "variation_of_information",
    "villmann_function",
    "wallace_clusters_to_labels",
    "wallace_labels_to_clusters",
    "weighted_differential_topographic_function",
    "within_scatter",
    "xie_beni_index",
    "zrehen_measure",
]
